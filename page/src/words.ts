import { ClientError } from "../../packages/client/src/client.ts";
import { parseJson } from "../../packages/client/src/client/connection.ts";
import type { VariableInfo } from "../../src/store/variable.ts";

/** The browser's language. Some name it with a suffix that is no language tag: `en-US@posix`. */
export const LOCALE = localeIn(navigator.language);

/** Falls back to English for an invalid language tag. */
function localeIn(language: string): string {
  try {
    return Intl.getCanonicalLocales(language.split(/[@.]/)[0])[0] ?? "en";
  } catch {
    return "en";
  }
}

const figures = new Intl.NumberFormat(LOCALE);
const times = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false });
const moments = new Intl.DateTimeFormat("en", {
  dateStyle: "medium",
  timeStyle: "medium",
  hourCycle: "h23",
});
const days = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });

export function figure(value: number): string {
  return figures.format(value);
}

/** Significant digits of a double. */
const DIGITS = { maximumSignificantDigits: 15 };
const grouped = new Intl.NumberFormat(LOCALE, DIGITS);
const plain = new Intl.NumberFormat(LOCALE, { ...DIGITS, useGrouping: false });

/** Names of columns whose numbers are names or years, not amounts. */
const NAMES = /^(?:id|year|zip|postcode|code|port)$|[_ ](?:id|year|zip|code|no)$|[a-z](?:Id|Year)$/;

/** Returns the digits behind the point that all numbers of a column are shown with. */
export function digitsOf(values: readonly number[]): number {
  const longest = values.map((value) => /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0);
  const most = Math.max(0, ...longest);
  if (most <= MAX_DIGITS) return most;
  return values.some((value) => value !== 0 && Math.abs(value) < 1) ? 6 : 2;
}

/** More digits than this are noise of the computation, not of the data. */
const MAX_DIGITS = 4;
/** By their digits behind the point. */
const formats: Intl.NumberFormat[] = [];

/** Formats a number of a column, the same way in tables, charts and answers. `digits`: those behind the point. */
export function numberWords(value: number, column: string, digits?: number): string {
  const size = Math.abs(value);
  // Very large and very small numbers keep their exponent.
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return String(value);
  const format = NAMES.test(column) ? plain : grouped;
  if (digits === undefined || format === plain) return format.format(value);
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  formats[digits] ??= new Intl.NumberFormat(LOCALE, fixed);
  return formats[digits].format(value);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${figure(count)} ${count === 1 ? one : many}`;
}

export function bytesInWords(bytes: number): string {
  if (bytes < 1_000) return plural(bytes, "byte");
  const [value, unit] = bytes < 1_000_000 ? [bytes / 1_000, "KB"] : [bytes / 1_000_000, "MB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** Returns undefined for a text that is no JSON. Numbers that the browser would not give back stay texts. */
export function jsonIn(text = ""): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Removes blank lines and spaces around a message. The indentation of its first line stays. */
export function messageIn(draft: string): string {
  return draft.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
}

/** Cuts a text that is longer than `most` characters. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Formats a time: today's as a time, earlier ones as a date. */
export function whenInWords(iso: string): string {
  const date = new Date(iso);
  return date.toDateString() === new Date().toDateString() ? times.format(date) : days.format(date);
}

/** Formats date and time, to the second. */
export function momentInWords(iso: string): string {
  return moments.format(new Date(iso));
}

const said: Readonly<Record<string, string>> = {
  unreachable: "The server cannot be reached.",
  unavailable: "The server is restarting.",
  turn_gone: "The conversation has continued elsewhere.",
  unauthorized: "Your key is no longer valid.",
  internal: "Something went wrong on the server.",
  model_failed: "The model failed.",
  rate_limited: "Too many requests. Try again later.",
};

/** Describes an error, with its stable code if it has one. */
export function troubleOf(error: unknown) {
  const { code, message } = codedOf(error);
  // Browsers word a missing network differently, and none for people.
  const detail = code === "unreachable" ? "Check your connection, then try again." : message;
  return { title: titleFor(code), detail, code };
}

export function titleFor(code: string | undefined): string {
  return said[code ?? ""] ?? "The request failed.";
}

/** True if the connection failed before the end of the answer. The server knows the outcome. */
export function isLost(error: unknown): boolean {
  return ["unreachable", "unavailable", "turn_gone"].includes(codedOf(error).code ?? "");
}

/** Describes an error in a sentence. */
export function problemWords(error: unknown): string {
  return isLost(error) ? troubleOf(error).title : codedOf(error).message;
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof ClientError ? error.code : undefined;
}

function codedOf(error: unknown): { readonly code: string | undefined; readonly message: string } {
  if (error instanceof ClientError) return { code: error.code, message: error.message };
  const text = error instanceof Error ? error.message : String(error);
  // Matches an error part of a stream: `code: message`. Messages about a missing network differ between browsers.
  const [, code, message] = /^([a-z]+(?:_[a-z]+)*): (.*)$/s.exec(text) ?? [];
  if (code !== undefined && message !== undefined) return { code, message };
  return { code: error instanceof TypeError ? "unreachable" : undefined, message: text };
}

const COUNTED: Readonly<Record<string, string>> = {
  array: "element",
  object: "key",
  string: "character",
};

/** Describes the size: `5,000 elements`. Bytes have their media type, uncountable values their type. */
export function countWords(info: Pick<VariableInfo, "type" | "count" | "mediaType">): string {
  const { type, count, mediaType } = info;
  if (type === "bytes") return mediaType;
  const one = COUNTED[type];
  return one === undefined ? type : plural(count, one);
}

/** Seconds, by unit. */
const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Formats a duration in the largest unit that fits: `3 min`. At least one second. */
export function durationWords(ms: number): string {
  const seconds = Math.max(1, Math.floor(ms / 1_000));
  const [unit, length] = UNITS.find((one) => one[1] <= seconds) ?? UNITS[3];
  return `${Math.floor(seconds / length)} ${unit}`;
}

export function ageWords(time: string, now: number): string {
  const ms = now - Date.parse(time);
  return ms < 10_000 ? "now" : durationWords(ms);
}

/** Returns the remaining lifetime: its share, from 1 to 0. Undefined for a variable that does not expire. */
export function lifeOf(
  { expiresAt, updatedAt, pinned }: Pick<VariableInfo, "expiresAt" | "updatedAt" | "pinned">,
  now: number,
) {
  if (expiresAt === undefined || pinned) return undefined;
  const end = Date.parse(expiresAt);
  const whole = end - Date.parse(updatedAt);
  const ms = end - now;
  if (ms <= 0) return { left: 0, words: "expires now" };
  return {
    left: whole <= 0 ? 0 : Math.min(1, ms / whole),
    words: `expires in ${durationWords(ms)}`,
  };
}

const VISIBILITIES: Readonly<Record<string, string>> = {
  sealed: "The model knows its name, type and count; you can see the value",
  secret: "Only tools that list it can read it",
};

export function labelsOf(info: Pick<VariableInfo, "visibility" | "trusted" | "scope" | "stale">) {
  const { visibility, trusted, scope, stale } = info;
  const newer = stale?.madeOf.map(({ name, version, now }) => `$${name} ${version} of ${now}`);
  const meaning = VISIBILITIES[visibility];
  const all = [
    { isOn: meaning !== undefined, name: visibility, meaning, isWarning: false },
    { isOn: !trusted, name: "untrusted", meaning: UNTRUSTED, isWarning: true },
    { isOn: stale !== undefined, name: "stale", meaning: `Made of ${newer}`, isWarning: true },
    { isOn: scope === "run", name: "run", meaning: "Removed when its run ends", isWarning: false },
  ];
  return all.filter(({ isOn }) => isOn);
}

const UNTRUSTED = "Contains data from an untrusted source";

/**
 * Parses a duration into seconds: `90`, `15 min`, `2 h`. Returns null for an empty text, which means no
 * expiry.
 */
export function secondsIn(text: string): number | null | undefined {
  const written = text.trim().toLowerCase();
  if (written === "") return null;
  const [, amount = "", unit = "s"] = /^(\d+(?:\.\d+)?)\s*(s|min|m|h|d)?$/.exec(written) ?? [];
  const [, length] = UNITS.find(([name]) => name.startsWith(unit)) ?? UNITS[3];
  const seconds = Math.round(Number(amount) * length);
  return amount !== "" && seconds >= 1 ? seconds : undefined;
}

const ENDINGS: Readonly<Record<string, string>> = {
  "application/json": "json",
  // The server returns it as an array.
  "application/x-ndjson": "json",
  "text/plain": "txt",
  "text/tab-separated-values": "tsv",
  "image/jpeg": "jpg",
  "image/svg+xml": "svg",
  "application/octet-stream": "bin",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.ms-excel": "xls",
  "application/msword": "doc",
  "audio/mpeg": "mp3",
};

/** Returns the file name of a download. */
export function fileName({ name, mediaType }: Pick<VariableInfo, "name" | "mediaType">): string {
  const type = bareType(mediaType);
  const last = /([a-z0-9]+)$/.exec(type)?.[1] ?? "bin";
  return `${name}.${Object.hasOwn(ENDINGS, type) ? ENDINGS[type] : last}`;
}

/** True for images that the server allows a page to show. */
export function isShownImage(mediaType: string): boolean {
  return /^image\/(?:png|jpeg|webp|gif)$/.test(bareType(mediaType));
}

/** Removes the parameters of a media type. */
function bareType(mediaType: string): string {
  return mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
}
