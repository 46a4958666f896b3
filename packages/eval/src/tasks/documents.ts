import { encoding } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import type { Random } from "../random.ts";

/** A kind of data that is passed from one tool to another. */
export type DocumentKind = "base64" | "csv" | "json" | "text";

export const documentKinds: readonly DocumentKind[] = ["base64", "csv", "json", "text"];

/** Creates a document of about this many characters. All records differ, so that none can be guessed. */
export function documentOf(kind: DocumentKind, chars: number, random: Random): Json {
  switch (kind) {
    case "base64":
      return encoding.toBase64(
        Uint8Array.from({ length: (chars / 4) * 3 }, () => random.between(0, 255)),
      );
    case "csv":
      return csvOf(chars, random);
    case "json":
      return recordsOf(chars, random);
    case "text":
      return textOf(chars, random);
  }
}

function csvOf(chars: number, random: Random): string {
  const lines = ["id,name,city,amount,date,note"];
  for (let length = 0; length < chars;) {
    const { id, name, city, amount, date, note } = recordOf(lines.length, random);
    const line = [id, name, city, amount, date, `"${note}"`].join(",");
    length += lines.push(line) === 0 ? 0 : line.length + 1;
  }
  return lines.join("\n");
}

/** A record of a document. Ids are `r-1`, `r-2` … */
export interface DocumentRecord {
  readonly [key: string]: Json;
  readonly id: string;
  readonly status: string;
}

/** Creates records of about this many characters as JSON. */
export function recordsOf(chars: number, random: Random): readonly DocumentRecord[] {
  const records: DocumentRecord[] = [];
  for (let length = 0; length < chars;) {
    const record = recordOf(records.length + 1, random);
    records.push(record);
    length += JSON.stringify(record).length + 1;
  }
  return records;
}

function recordOf(number: number, random: Random): DocumentRecord {
  return {
    id: `r-${number}`,
    name: nameOf(random),
    city: random.one(CITIES),
    amount: random.between(1, 99_999) / 100,
    date: `2026-${padded(random.between(1, 12))}-${padded(random.between(1, 28))}`,
    status: "open",
    note: sentenceOf(random, 6),
  };
}

function textOf(chars: number, random: Random): string {
  const lines: string[] = [];
  for (let length = 0; length < chars;) {
    const line = `${lines.length + 1}. ${sentenceOf(random, 14)} Ref ${codeOf(random)}.`;
    lines.push(line);
    length += line.length + 1;
  }
  return lines.join("\n");
}

/** Creates a sentence of this many words and numbers. */
export function sentenceOf(random: Random, words: number): string {
  const all = Array.from({ length: words }, () =>
    random.chance(0.15) ? String(random.between(2, 9_999)) : random.one(WORDS),
  );
  const sentence = all.join(" ");
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

/** Creates a code such as `QK7-48213`, which cannot be guessed. */
export function codeOf(random: Random): string {
  const letters = Array.from({ length: 2 }, () => random.one([..."ABCDEFGHJKLMNPQRSTUVWXYZ"]));
  return `${letters.join("")}${random.between(2, 9)}-${random.between(10_000, 99_999)}`;
}

export function nameOf(random: Random): string {
  return `${random.one(FIRST_NAMES)} ${random.one(LAST_NAMES)}`;
}

function padded(number: number): string {
  return String(number).padStart(2, "0");
}

export const CITIES = ["Oslo", "Rome", "Lyon", "Porto", "Graz", "Turku", "Ghent", "Cork", "Brno"];
const FIRST_NAMES = ["Ada", "Lin", "Omar", "Noor", "Ivo", "Mei", "Sara", "Tom", "Uma", "Per"];
const LAST_NAMES = ["Vane", "Okoro", "Silva", "Haug", "Novak", "Tanaka", "Reyes", "Berg", "Diallo"];
const WORDS = (
  "harbor invoice seven blue paper pump late north margin copper window train signal garden early " +
  "report river closed carton engine winter label second bridge morning order yellow cable return"
).split(" ");
