import { isSign, type Token } from "./sql-tokens.ts";

/** A column that has an element, or a part of one, if its table is `json_each`. */
export interface ElementColumn {
  /** In lower case. Undefined: of any table. */
  readonly table: string | undefined;
}

/** The columns of `json_each` that have no characters but those of the element. */
const COLUMNS = new Set(["value", "atom", "key"]);

/** Returns the column that these tokens read, alone or with arrows and written keys behind it. */
export function elementRead(tokens: readonly Token[]): ElementColumn | undefined {
  const end = beforeArrows(tokens, tokens.length);
  return end === undefined ? undefined : elementColumn(tokens.slice(0, end));
}

/** Returns the column that these tokens are; undefined for another expression. */
function elementColumn(tokens: readonly Token[]): ElementColumn | undefined {
  const [first, dot, last] = tokens;
  const name = tokens.length === 1 ? first : last;
  if (first?.kind !== "name" || name?.kind !== "name") return undefined;
  if (!COLUMNS.has(name.value.toLowerCase())) return undefined;
  if (tokens.length === 1) return { table: undefined };
  return tokens.length === 3 && isSign(dot, ".") ? { table: first.value.toLowerCase() } : undefined;
}

/**
 * Returns the column at the left of an arrow, whose last character is at this token: `value ->> 'a'`, or with
 * more arrows between, whose keys are written. Undefined for another expression.
 */
export function elementLeftOf(tokens: readonly Token[], at: number): ElementColumn | undefined {
  if (!isWritten(tokens[at + 1])) return undefined;
  const arrow = arrowAt(tokens, at);
  const end = arrow === undefined ? undefined : beforeArrows(tokens, arrow);
  if (end === undefined) return undefined;
  const start = isSign(tokens[end - 2], ".") ? end - 3 : end - 1;
  // Operators of the same precedence begin at the left.
  if (isSign(tokens[start - 1], "|") || isSign(tokens[start - 1], ">")) return undefined;
  return elementColumn(tokens.slice(start, end));
}

/** Returns where the arrows with written keys before this token begin; undefined for too many. */
function beforeArrows(tokens: readonly Token[], before: number): number | undefined {
  let end = before;
  for (let count = 0; count < MAX_ARROWS; count++) {
    const arrow = isWritten(tokens[end - 1]) ? arrowAt(tokens, end - 2) : undefined;
    if (arrow === undefined) return end;
    end = arrow;
  }
  return undefined;
}

/** SQLite refuses deeper expressions. */
const MAX_ARROWS = 100;

function isWritten(token: Token | undefined): boolean {
  return token?.kind === "text" || token?.kind === "value";
}

/** Returns where an arrow begins, whose last character is at this token. */
function arrowAt(tokens: readonly Token[], at: number): number | undefined {
  if (!isSign(tokens[at], ">")) return undefined;
  if (isSign(tokens[at - 1], "-")) return at - 1;
  return isSign(tokens[at - 1], ">") && isSign(tokens[at - 2], "-") ? at - 2 : undefined;
}
