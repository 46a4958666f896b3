import { isLongNumber, isSign } from "./sql-tokens.ts";
import type { ParameterUse, Statement, TableUse } from "./read-statement.ts";

export interface Rewriting {
  readonly nameOf: (use: TableUse) => string;
  /** The SQL for the value of a reference. */
  readonly textOf: (use: ParameterUse) => string;
}

export interface Rewritten {
  readonly sql: string;
  /** Returns the offset in the written statement for an offset in this one. */
  readonly writtenOffset: (at: number) => number;
}

interface Piece {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Puts the names of tables and the values of references into a statement. Quoted names are quoted such that
 * SQLite does not read an unknown one as a string, and `index`, a keyword, is quoted.
 */
export function rewrite(statement: Statement, { nameOf, textOf }: Rewriting): Rewritten {
  const tables = statement.tables.map((use) => {
    const { token, alias, isAliased } = use;
    const name = identifier(nameOf(use));
    const isShown = alias !== undefined && !isAliased;
    return { ...token, text: isShown ? `${name} AS ${identifier(alias)}` : name };
  });
  const parameters = statement.parameters.map((use) => ({ ...use, text: ` ${textOf(use)} ` }));
  const replaced = new Set([...tables, ...parameters].map(({ start }) => start));
  const names = statement.tokens.flatMap((token) => {
    const isQuoted = token.kind === "name" && token.word === "";
    if (replaced.has(token.start) || (!isQuoted && token.word !== "INDEX")) return [];
    return { ...token, text: identifier(token.value) };
  });
  const numbers = statement.tokens.flatMap((token, at) => {
    const isNegative = isSign(statement.tokens[at - 1], "-");
    const isText = token.kind === "value" && isLongNumber(token.value) && !isNegative;
    return isText ? { ...token, text: `'${token.value}'` } : [];
  });
  const pieces = [...tables, ...parameters, ...names, ...numbers].sort((a, b) => a.start - b.start);
  return joined(statement, pieces);
}

function joined({ sql, end }: Statement, pieces: readonly Piece[]): Rewritten {
  let text = "";
  let from = 0;
  const places: { readonly at: number; readonly piece: Piece }[] = [];
  for (const piece of pieces) {
    text += sql.slice(from, piece.start);
    places.push({ at: text.length, piece });
    text += piece.text;
    from = piece.end;
  }
  text += sql.slice(from, end);
  return {
    sql: text,
    writtenOffset: (at) => {
      const last = places.findLast((place) => place.at <= at);
      if (last === undefined) return Math.min(at, end);
      const behind = at - last.at - last.piece.text.length;
      return behind < 0 ? last.piece.start : Math.min(last.piece.end + behind, end);
    },
  };
}

/** Quotes a name. In these quotes SQLite never reads a string. */
export function identifier(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}
