import type { VariableInfo } from "../../../src/store/variable.ts";
import { plural } from "../words.ts";

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

/** Returns the labels of a variable: its visibility, trust and scope. */
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
