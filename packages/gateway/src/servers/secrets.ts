import { json } from "../../../../src/internal.ts";
import type { ServerConfiguration } from "../configuration.ts";

/** Shorter values are unlikely to be secrets, and redacting them would remove ordinary words. */
const MIN_SECRET_CHARS = 6;

/** Names of variables, headers, parameters and options with secrets; not `AUTHOR` and `MAX_TOKENS`. */
export const SECRET_NAME =
  /key|token(?!s|iz)|secret|passw|passphrase|pwd|credential|auth(?!ors?(?![a-z]))|cookie|bearer/iu;

/** A text of a configuration and what it is called there; a text without a name has an empty one. */
export type NamedText = readonly [name: string, text: string];

/**
 * Returns the parts of the texts that look like secrets, by a name or because they are random; the longest first.
 * Paths and single words are none.
 */
export function secretsIn(texts: readonly NamedText[]): readonly string[] {
  const all = texts.flatMap(partsOf).filter((part) => part.length >= MIN_SECRET_CHARS);
  const secrets = new Set(all.filter((part) => !WORD.test(part) && !isPath(part)));
  return [...secrets].sort((a, b) => b.length - a.length);
}

export function redact(text: string, secrets: readonly string[]): string {
  return secrets.reduce((all, secret) => all.replaceAll(secret, "[secret]"), text);
}

/** Returns the secrets, each also as a URL and JSON write it; the longest first. */
function formsOf(secrets: readonly string[]): readonly string[] {
  const written = secrets.flatMap((secret) => [
    secret,
    decode(secret),
    // Others cannot be written in a URL.
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
  ]);
  return [...new Set(written)].sort((a, b) => b.length - a.length);
}

/** Returns what looks like a secret in a server's address, and what the configuration names, for `redact`. */
export function secretsOf({
  address,
  secrets: names = [],
}: Pick<ServerConfiguration, "address" | "secrets">): readonly string[] {
  const given: readonly NamedText[] = Object.entries(
    "url" in address ? address.headers : address.env,
  );
  const others = "url" in address ? [["", address.url] as const] : argumentsIn(address.args);
  const named = given.filter(([name, text]) => names.includes(name) && text !== "");
  return formsOf([...named.map(([, text]) => text), ...secretsIn([...given, ...others])]);
}

/** Returns the arguments; after an option that is named like a secret, under its name. */
function argumentsIn(args: readonly string[]): readonly NamedText[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? "";
    const isValue = /^--?[\w-]+$/u.test(before) && SECRET_NAME.test(before) && !arg.startsWith("-");
    return [isValue ? before : "", arg];
  });
}

/** Returns the value with `redact` applied to each text in it. */
export function redactTexts<Value extends object>(
  redact: (text: string) => string,
  value: Value,
): Value {
  const texts = (_key: string, inner: unknown) =>
    typeof inner === "string" ? redact(inner) : inner;
  // Only texts change: numbers keep their digits.
  return json.parsedJson(JSON.stringify(value, texts)) as Value;
}

/** Returns a text without URL encoding; one that is not valid UTF-8 as it is. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function partsOf([name, text]: NamedText): readonly string[] {
  const words = text.split(/[\s;,=]+/u);
  const isUrl = /^[a-z][\w+.-]*:\/\//iu.test(text);
  const whole = SECRET_NAME.test(name) && !isUrl && !isPath(text) ? [text, ...words] : [];
  const users = [...text.matchAll(USER)].flatMap(([, user = "", password = user]) => [password]);
  return [...whole, ...valuesIn(text), ...users, ...words.flatMap(randomIn)];
}

/** The values of keys with such a name. A value may have pairs of its own: of those, the first few count. */
function valuesIn(text: string): readonly string[] {
  const values: string[] = [];
  let [end, inner] = [0, 0];
  for (const { 0: pair, 1: key = "", 2: scheme = "", index } of text.matchAll(PAIR)) {
    if (!SECRET_NAME.test(key)) continue;
    const from = index + pair.length + scheme.length;
    inner = from < end ? inner + 1 : 0;
    if (inner > MAX_INNER) continue;
    // Values that end at the same place are read once.
    if (inner === 0) {
      VALUE_END.lastIndex = from;
      end = VALUE_END.exec(text)?.index ?? text.length;
    }
    values.push(text.slice(from, end));
  }
  return values;
}

const MAX_INNER = 8;
const VALUE_END = /[\s"';,&]/gu;

/**
 * `api_key=…`, `"apiKey": "…"`, `Authorization: Bearer …`. A match begins with the first character of a key: to try all
 * others of a long word would take quadratic time.
 */
const PAIR =
  /(?<![\w-])([\w-]+)["']?\s*[=:]\s*["']?(?=((?:(?:bearer|basic|token)\s+)?)[^\s"';,&])/giu;
/** `https://user:password@…` and `https://token@…`. */
const USER = /:\/\/([^\s/@:?#]*)(?::([^\s/@]+))?@/gu;

function randomIn(word: string): readonly string[] {
  if (!word.includes("://")) return isRandom(word) ? [word] : [];
  return word.split(/[/?#&@]+/u).filter((part) => UUID.test(part) || isRandom(part));
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu;

/** True for keys and hashes, whatever stands before them; false for `claude-sonnet-4-20250514`. */
function isRandom(text: string): boolean {
  return text
    .split(/[^A-Za-z0-9+/]+/u)
    .some(
      (part) =>
        part.length >= 16 && /\d/u.test(part) && /[a-z]/iu.test(part) && entropyOf(part) >= 3,
    );
}

/** Returns the bits of a character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  const shares = [...counts.values()].map((count) => count / text.length);
  return -shares.reduce((sum, share) => sum + share * Math.log2(share), 0);
}

/** Longer ones are no words. */
const WORD = /^(?=.{1,20}$)(?:\p{Lu}?\p{Ll}+|\p{Lu}+)$/u;

function isPath(text: string): boolean {
  const steps = text.split(/[\\/]/u);
  if (steps.length < 2) return false;
  // Base64 has slashes, too.
  if (steps.some((step) => step.length > 2 && WORD.test(step))) return true;
  return /^(?:~|\.\.?|[a-z]:)?[\\/]/iu.test(text) && !isRandom(text);
}
