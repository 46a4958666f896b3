import { expect } from "vitest";
import type { VariableStore } from "../../src/store/variables.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { Json } from "../../src/value/json.ts";

/** The store of the current test, and its clock. */
export type Fixture = { store: VariableStore; nowMs: number };

export const START_MS = Date.UTC(2026, 0, 1);

export function namesOf(infos: readonly Pick<VariableInfo, "name">[]): readonly string[] {
  return infos.map(({ name }) => name);
}

export const iso = (timeMs: number): string => new Date(timeMs).toISOString();

/** Returns the text that a value is stored as: itself if it is a well-formed text, otherwise JSON. */
export function textOf(value: Json): string {
  return typeof value === "string" && value.isWellFormed() ? value : JSON.stringify(value);
}

/** Matches an error by its code. */
export const withCode = (code: string) => expect.objectContaining({ code });

/** Expects the work to throw or reject with this code. */
export async function expectCode(work: () => unknown, code: string): Promise<void> {
  await expect((async () => work())()).rejects.toThrow(withCode(code));
}
