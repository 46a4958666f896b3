import { expect } from "vitest";
import * as limits from "../../src/limits.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { Json } from "../../src/value/json.ts";

/** The store of the test that runs, and its clock. */
export interface Fixture {
  store: VariableStore;
  nowMs: number;
  /** Has the store a bucket for what is large? */
  readonly hasBucket: boolean;
}

export const START_MS = Date.UTC(2026, 0, 1);

/** When a variable that is written or read at this time goes if nobody uses it again. */
export function idleFrom(timeMs: number): number {
  return timeMs + limits.variableIdleMs;
}

/** What is seen of a store in which nothing is. */
export const NOTHING = { list: [], count: 0, values: [], nextDueMs: undefined };

/** What a reader who knows no name can see of a store. Reading is a use: the list is made after it. */
export async function observe(store: VariableStore) {
  const values: (Json | undefined)[] = [];
  for (const { name } of store.list()) values.push(await store.read(name));
  return { list: store.list(), values, count: store.count(), nextDueMs: store.nextDueMs() };
}

export function namesOf(infos: readonly Pick<VariableInfo, "name">[]): readonly string[] {
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

/** Throws at once or rejects, whichever; nobody has to wait for an error that is known. */
export async function expectCode(work: () => unknown, code: string): Promise<void> {
  await expect((async () => work())()).rejects.toThrow(withCode(code));
}
