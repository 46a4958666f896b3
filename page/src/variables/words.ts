import type { VariableInfo } from "../../../src/store/variable.ts";
import { plural } from "../words.ts";

const COUNTED: Readonly<Record<string, string>> = {
  array: "element",
  object: "key",
  string: "character",
};

/** Describes the size: `5,000 elements`. Bytes have their media type, uncountable values their type. */
export function countWords({
  type,
  count,
  mediaType,
}: Pick<VariableInfo, "type" | "count" | "mediaType">): string {
  if (type === "bytes") return mediaType;
  const one = COUNTED[type];
  return one === undefined ? type : plural(count, one);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats a duration in the largest unit that fits: `3 min`. At least one second. */
export function durationWords(ms: number): string {
  if (ms < MINUTE) return `${Math.max(1, Math.floor(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  return ms < DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} d`;
}

export function ageWords(time: string, now: number): string {
  const age = now - Date.parse(time);
  return age < 10 * SECOND ? "now" : durationWords(age);
}

/** Remaining lifetime of a variable. */
export interface Life {
  /** Remaining share, from 1 to 0. */
  readonly left: number;
  readonly words: string;
}

/** Returns undefined for a variable that does not expire. */
export function lifeOf(
  { expiresAt, updatedAt, pinned }: Pick<VariableInfo, "expiresAt" | "updatedAt" | "pinned">,
  now: number,
): Life | undefined {
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

export interface Label {
  readonly name: string;
  readonly meaning: string;
  readonly isWarning: boolean;
}

/** Returns the labels of a variable: its visibility, trust and scope */
export function labelsOf({
  visibility,
  trusted,
  scope,
}: Pick<VariableInfo, "visibility" | "trusted" | "scope">): readonly Label[] {
  const meaning = VISIBILITIES[visibility];
  return [
    ...(meaning === undefined ? [] : [{ name: visibility, meaning, isWarning: false }]),
    ...(trusted
      ? []
      : [
          { name: "untrusted", meaning: "Contains data from an untrusted source", isWarning: true },
        ]),
    ...(scope === "run"
      ? [{ name: "run", meaning: "Removed when its run ends", isWarning: false }]
      : []),
  ];
}

/**
 * Parses a duration into seconds: `90`, `15 min`, `2 h`. Returns null for an empty text, which means no
 * expiry.
 */
export function secondsIn(text: string): number | null | undefined {
  const written = text.trim().toLowerCase();
  if (written === "") return null;
  const [, amount = "", unit = "s"] = /^(\d+(?:\.\d+)?)\s*(s|min|m|h|d)?$/.exec(written) ?? [];
  const seconds = Math.round((Number(amount) * (SECONDS[unit] ?? 0)) / SECOND);
  return amount !== "" && seconds >= 1 ? seconds : undefined;
}

const SECONDS: Readonly<Record<string, number>> = {
  s: SECOND,
  m: MINUTE,
  min: MINUTE,
  h: HOUR,
  d: DAY,
};
