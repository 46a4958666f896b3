import { vi } from "vitest";

/** A value that must not leak. No other text contains five of its characters in a row. */
export const SECRET = 'Qz7Xk9Wm2-/é€"+Lp4Vb8NtR';

const WINDOW_CHARS = 5;

/** Returns the forms of the secret in the text, plain or encoded. */
export function leaksIn(text: string): readonly string[] {
  return formsOf(SECRET).filter((form) => text.includes(form));
}

/** Pieces of the secret, plain and in encodings that it may leak in. */
function formsOf(secret: string): readonly string[] {
  const encodings = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    encodeURIComponent(secret),
    asciiJson(secret),
  ];
  const windows = encodings.flatMap((text) => windowsOf(text, WINDOW_CHARS));
  // Five digits alone may be part of any id.
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

/** Base64 of a text inside a longer one, at its three possible offsets, without the ends. */
function base64Forms(text: string): readonly string[] {
  return ["", "a", "aa"].flatMap((before) => {
    const encoded = Buffer.from(before + text).toString("base64");
    const inner = encoded.slice(4, -4);
    return [inner.slice(0, 8), inner.slice(8, 16), inner.slice(-8)];
  });
}

/** Records console output from now on. Returns a function that reads it. */
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
