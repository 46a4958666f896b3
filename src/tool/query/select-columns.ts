import type { Token } from "./sql-tokens.ts";

/** A column that a SELECT returns. All names are in lower case. */
export interface OutputColumn {
  /** Undefined if the statement does not name the column. */
  readonly name: string | undefined;
  /** The column that it is; undefined for other expressions. */
  readonly column: ColumnName | undefined;
  /** Identifies its expression. */
  readonly text: string;
  /** The expressions of the partitions of `row_number()`. */
  readonly partitions: readonly Expression[] | undefined;
}

/** A column, maybe of a certain table: `a.b`. */
interface ColumnName {
  readonly table: string | undefined;
  readonly name: string;
}

export interface Expression {
  readonly column: ColumnName | undefined;
  /** The number of a column of the result, as in GROUP BY 1. */
  readonly ordinal: number | undefined;
  readonly text: string;
}

const AFTER_OUTPUTS = new Set(
  "FROM WHERE GROUP HAVING ORDER LIMIT WINDOW UNION INTERSECT EXCEPT".split(" "),
);
/** The last words of expressions, which are no aliases. */
const LAST_WORDS = new Set("END NULL ISNULL NOTNULL".split(" "));

/** Reads what a SELECT returns, from the token behind SELECT or DISTINCT. */
export function outputsAt(tokens: readonly Token[], from: number): readonly OutputColumn[] {
  return listAt(tokens, from, AFTER_OUTPUTS).map((item) => {
    const [mark, alias] = item.slice(-2);
    const isNamed = alias?.kind === "name" && !LAST_WORDS.has(alias.word) && item.length > 1;
    const isMarked = isNamed && mark?.word === "AS";
    const isAliased = isMarked || (isNamed && mark?.kind !== "sign") || isClosed(mark, isNamed);
    const expression = isAliased ? item.slice(0, isMarked ? -2 : -1) : item;
    const read = expressionOf(expression);
    const name = isAliased ? alias?.value.toLowerCase() : read.column?.name;
    return { ...read, name, partitions: partitionsOf(expression) };
  });
}

function isClosed(mark: Token | undefined, isNamed: boolean): boolean {
  return isNamed && mark?.kind === "sign" && mark.value === ")";
}

const AFTER_GROUPING = new Set("HAVING ORDER LIMIT WINDOW UNION INTERSECT EXCEPT".split(" "));

/** Reads the expressions behind GROUP BY. */
export function groupingAt(tokens: readonly Token[], from: number): readonly Expression[] {
  return listAt(tokens, from, AFTER_GROUPING).map(expressionOf);
}

const AFTER_PARTITIONS = new Set("ORDER ROWS RANGE GROUPS".split(" "));

function partitionsOf(item: readonly Token[]): readonly Expression[] | undefined {
  const written = item.slice(0, 5).map(({ value }) => value.toLowerCase());
  if (written.join("") !== "row_number()over(" || closingAt(item, 4) !== item.length - 1)
    return undefined;
  const [first] = item.slice(5);
  if (first?.word === "PARTITION") return listAt(item, 7, AFTER_PARTITIONS).map(expressionOf);
  return first?.word === "ORDER" || first?.value === ")" ? [] : undefined;
}

/** Returns where the parenthesis at this token is closed; -1 if it is not. */
export function closingAt(tokens: readonly Token[], opening: number): number {
  let depth = 0;
  for (let at = opening; at < tokens.length; at++) {
    const token = tokens[at];
    if (token?.kind !== "sign") continue;
    if (token.value === "(") depth++;
    if (token.value === ")" && --depth === 0) return at;
  }
  return -1;
}

/** Splits the arguments of a function, whose opening parenthesis is at this token. */
export function argumentsAt(
  tokens: readonly Token[],
  opening: number,
): readonly (readonly Token[])[] {
  return listAt(tokens, opening + 1, NOTHING);
}

const NOTHING: ReadonlySet<string> = new Set();

/** Reads the first argument of a function. */
export function argumentAt(tokens: readonly Token[], opening: number): Expression {
  return expressionOf(argumentsAt(tokens, opening)[0] ?? []);
}

function expressionOf(tokens: readonly Token[]): Expression {
  const [first, dot, last] = tokens;
  const isName = first?.kind === "name" && !LAST_WORDS.has(first.word);
  const isQualified = isName && dot?.value === "." && last?.kind === "name" && tokens.length === 3;
  const named = isQualified ? last : first;
  const isColumn = isQualified || (isName && tokens.length === 1);
  const table = isQualified ? first.value.toLowerCase() : undefined;
  const isNumber = first?.kind === "value" && tokens.length === 1;
  return {
    column: isColumn && named ? { table, name: named.value.toLowerCase() } : undefined,
    ordinal: isNumber && /^\d+$/.test(first.value) ? Number(first.value) : undefined,
    text: JSON.stringify(
      tokens.map(({ kind, value }) => [kind, kind === "name" ? value.toLowerCase() : value]),
    ),
  };
}

/** Splits a list at its commas, up to one of the words or the end of the parentheses that it is in. */
function listAt(
  tokens: readonly Token[],
  from: number,
  end: ReadonlySet<string>,
): readonly (readonly Token[])[] {
  const items: Token[][] = [[]];
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    const { kind, value, word } = token;
    const sign = kind === "sign" ? value : "";
    if (sign === "(") depth++;
    if (sign === ")" && --depth < 0) break;
    if (depth === 0 && end.has(word) && tokens[at - 1]?.word !== "DISTINCT") break;
    if (depth === 0 && sign === ",") items.push([]);
    else items.at(-1)?.push(token);
  }
  return items;
}
