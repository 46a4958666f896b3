import type { Token } from "./sql-tokens.ts";
import { AFTER_TABLE } from "./statement-words.ts";

/** The alias that a table has at this token. */
export function aliasAt(tokens: readonly Token[], at: number): string | undefined {
  const token = tokens[at];
  const isMarked = token?.word === "AS";
  const alias = isMarked ? tokens[at + 1] : token;
  if (alias?.kind !== "name" && alias?.kind !== "text") return undefined;
  return isMarked || !AFTER_TABLE.has(alias.word) ? alias.value : undefined;
}

/** True if FROM is a part of IS DISTINCT FROM. */
export function isComparison(tokens: readonly Token[], at: number): boolean {
  const [before, last] = tokens.slice(Math.max(at - 2, 0), at);
  return last?.word === "DISTINCT" && (before?.word === "IS" || before?.word === "NOT");
}

/** The alias of a table that has none: its name; for a part of a variable, the last key. */
export function ownAliasOf({ value, reference }: Token): string {
  if (reference === undefined) return value;
  const key = reference.path.findLast((segment) => "key" in segment);
  return key === undefined || /[\s\0()=?]/.test(key.key) ? reference.name : key.key;
}
