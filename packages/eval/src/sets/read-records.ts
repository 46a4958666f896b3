import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../../../src/value/json.ts";

export type SetRecord = Readonly<Record<string, unknown>>;

/** Reads all records of the `.jsonl` and `.json` files in a folder and below, in place, in the order of names. */
export function readRecords(folder: string): readonly SetRecord[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.toSorted().flatMap((name) => {
    const path = join(folder, name);
    if (name.endsWith(".jsonl")) return linesIn(readFileSync(path, "utf8"));
    if (!name.endsWith(".json")) return [];
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return (Array.isArray(value) ? (value as readonly unknown[]) : [value]).filter(isObject);
  });
}

function linesIn(text: string): readonly SetRecord[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line): unknown => JSON.parse(line)).filter(isObject);
}

/** Returns a field that some editions have as JSON and others as the text of JSON. */
export function jsonField(record: SetRecord, key: string): unknown {
  const value = record[key];
  return typeof value === "string" ? (JSON.parse(value) as unknown) : value;
}
