import { vi } from "vitest";

/** Of a value that must leave nowhere; no other text has any five of its characters in a row. */
export const SECRET = 'Qz7Xk9Wm2-/é€"+Lp4Vb8NtR';

const WINDOW_CHARS = 5;

/** What of the secret is in the text, in any form in which it might have left. */
export function leaksIn(text: string): readonly string[] {
  return formsOf(SECRET).filter((form) => text.includes(form));
}

/** What of any secret is in the text, as it is or encoded: by its pieces, of which each is its own. */
export function formsIn(text: string, secret: string): readonly string[] {
  const encodings = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
  const pieces = encodings.flatMap((encoded) => windowsOf(encoded, OWN_CHARS));
  const all = [...pieces, ...windowsOf(hex(secret), 2 * OWN_CHARS), ...base64Forms(secret)];
  return [...new Set(all)].filter((form) => form.length >= OWN_CHARS - 1 && text.includes(form));
}

/** So many characters of a secret in a row stand nowhere else. */
const OWN_CHARS = 9;

/** Pieces of the text as it is, and in the encodings that a value may be put into on its way out. */
function formsOf(secret: string): readonly string[] {
  const encodings = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    encodeURIComponent(secret),
    asciiJson(secret),
  ];
  const windows = encodings.flatMap((text) => windowsOf(text, WINDOW_CHARS));
  // Five digits alone may stand in any id.
  const digits = windowsOf(hex(secret), 2 * WINDOW_CHARS);
  return [...new Set([...windows, ...digits, ...base64Forms(secret)])];
}

function windowsOf(text: string, chars: number): readonly string[] {
  return Array.from({ length: text.length - chars + 1 }, (_, at) => text.slice(at, at + chars));
}

function asciiJson(text: string): string {
  return text.replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}

/** A text stands in the base64 of a longer one in one of three ways, its ends left out. */
function base64Forms(text: string): readonly string[] {
  return ["", "a", "aa"].flatMap((before) => {
    const encoded = Buffer.from(before + text).toString("base64");
    const inner = encoded.slice(4, -4);
    return [inner.slice(0, 8), inner.slice(8, 16), inner.slice(-8)];
  });
}

/** Writes down what is said on the console from now on; returns how to read it. */
export function watchConsole(): () => string {
  const said: string[] = [];
  for (const method of ["log", "info", "warn", "error", "debug", "trace"] as const) {
    vi.spyOn(console, method).mockImplementation((...parameters: readonly unknown[]) => {
      said.push(parameters.map(shown).join(" "));
    });
  }
  return () => said.join("\n");
}

function shown(value: unknown): string {
  if (!(value instanceof Error)) return typeof value === "string" ? value : JSON.stringify(value);
  return `${value.stack} ${JSON.stringify(value)} ${shown(value.cause ?? "")}`;
}
