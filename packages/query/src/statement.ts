import type { AliasTarget, TableUse } from "./select-group.ts";
import type { Token } from "./sql-tokens.ts";

/** A reference that is bound to its value. */
export interface ParameterUse {
  readonly token: Token;
  /** The tokens that its value replaces: with the parentheses behind IN. */
  readonly start: number;
  readonly end: number;
  /** True behind IN: an array is a list of values there. */
  readonly isList: boolean;
}

/** One statement that reads, and what it reads. */
export interface Statement {
  readonly sql: string;
  /** The statement without what follows its last token, such as semicolons. */
  readonly end: number;
  readonly tokens: readonly Token[];
  readonly tables: readonly TableUse[];
  readonly parameters: readonly ParameterUse[];
  /**
   * Targets by alias in lower case; "" for statements in FROM without one. An alias may have several targets in
   * different parts of a statement.
   */
  readonly aliases: ReadonlyMap<string, readonly AliasTarget[]>;
  /** All names in it, in lower case: columns have one of these. */
  readonly names: ReadonlySet<string>;
  /** All texts in quotes. */
  readonly texts: readonly string[];
  /** True if columns are used that the statement does not name. */
  readonly usesAllColumns: boolean;
  /** True if it reads more than one table, or one more than once. */
  readonly isJoin: boolean;
  /** The most steps of a recursion in it; 1 without any. */
  readonly recursionSteps: number;
}
