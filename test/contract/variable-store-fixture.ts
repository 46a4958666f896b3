import { expect } from "vitest";
import type { VariableInfo, VariableStore } from "../../src/store/variable-store.ts";
import type { Json } from "../../src/value/json.ts";

/** The store of the test that runs, and its clock. */
export interface Fixture {
  store: VariableStore;
  nowMs: number;
}

export const START_MS = Date.UTC(2026, 0, 1);

/** What a reader who knows no name can see of a store. */
export function observe(store: VariableStore) {
  const list = store.list();
  const values = list.map(({ name }) => store.read(name));
  return { list, values, count: store.count(), nextDueMs: store.nextDueMs() };
}

export function namesOf(infos: readonly VariableInfo[]): readonly string[] {
  return infos.map(({ name }) => name);
}

export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** What a value costs: a text itself, unless UTF-8 cannot hold it; everything else as JSON. */
export function textOf(value: Json): string {
  return typeof value === "string" && value.isWellFormed() ? value : JSON.stringify(value);
}

/** Matches an error by its code. */
export function withCode(code: string) {
  return expect.objectContaining({ code });
}
