import { argumentsAt, argumentAt, closingAt } from "./select-columns.ts";
import type { SelectGroup, TableFunctionUse } from "./select-group.ts";
import { isSign, type Token } from "./sql-tokens.ts";
import { TABLE_FUNCTIONS } from "./statement-words.ts";
import { aliasAt } from "./table-names.ts";

/** Reads the call of `json_each` or `json_tree` whose name is at this token. */
export function tableFunctionAt(
  tokens: readonly Token[],
  at: number,
  group: SelectGroup,
): TableFunctionUse {
  const { value = "", word = "" } = tokens[at] ?? {};
  const alias = aliasAt(tokens, closingAt(tokens, at + 1) + 1) ?? value;
  return {
    argument: argumentAt(tokens, at + 1),
    isOnly: argumentsAt(tokens, at + 1).length === 1,
    isEach: word === "JSON_EACH",
    group,
    alias: alias.toLowerCase(),
  };
}

/** Counts the names of table functions, wherever they are, without those of columns: `json_each.value`. */
export function tableFunctionsIn(tokens: readonly Token[]): number {
  const isFunction = ({ kind, value }: Token, at: number) =>
    (kind === "name" || kind === "text") &&
    TABLE_FUNCTIONS.has(value.toUpperCase()) &&
    !isSign(tokens[at + 1], ".");
  return tokens.filter(isFunction).length;
}
