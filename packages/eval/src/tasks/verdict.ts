import { isJsonArray, isJsonObject, type Json } from "../../../../src/value/json.ts";
import type { Verdict } from "./task.ts";

/** Judges data that has to arrive unchanged. The order of an object's keys does not matter. */
export function intact(expected: Json, received: Json | undefined): Verdict {
  const wanted = writtenOf(expected);
  if (received === undefined) {
    return { isRight: false, isIntact: false, expected: wanted, why: "nothing arrived" };
  }
  const isRight = textOf(received) === textOf(expected);
  return {
    isRight,
    isIntact: isRight,
    expected: wanted,
    received: writtenOf(received),
    ...(isRight ? {} : { why: "it was changed on the way" }),
  };
}

/** Judges a value that the model has to find. */
export function same(expected: Json, received: Json | undefined): Verdict {
  if (received !== undefined && textOf(received) === textOf(expected)) return { isRight: true };
  const got = received === undefined ? "nothing" : textOf(received).slice(0, 80);
  return { isRight: false, why: `${got} in place of ${textOf(expected).slice(0, 80)}` };
}

/** Serializes in the order of keys as written, so that a wrong letter in a key changes one letter only. */
function writtenOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(sorted(value));
}

function sorted(value: Json): Json {
  if (isJsonArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] ?? null)]));
}
