import { MEDIAN } from "./explain-problem.ts";
import { notAllowed, queryProblem } from "./query-problem.ts";
import type { Token } from "./sql-tokens.ts";

/** Functions that do more than compute, fill the memory, or return something else each time. */
const FORBIDDEN_FUNCTIONS = new Set(
  `LOAD_EXTENSION READFILE WRITEFILE EDIT FTS3_TOKENIZER ZEROBLOB RANDOMBLOB RANDOM CHANGES TOTAL_CHANGES
  LAST_INSERT_ROWID SQLITE_COMPILEOPTION_GET SQLITE_COMPILEOPTION_USED SQLITE_VERSION SQLITE_SOURCE_ID`.split(
    /\s+/,
  ),
);
/** Functions that SQLite has in Node, and not in Durable Objects. */
const MISSING = /^(?:MEDIAN|PERCENTILE(?:_CONT|_DISC)?)$/;

interface Place {
  readonly sql: string;
  readonly tokens: readonly Token[];
}

/** Throws `query_not_allowed` if the function at this token may not be called. */
export function requireAllowed(word: string, at: number, { sql, tokens }: Place): void {
  const token = tokens[at];
  if (FORBIDDEN_FUNCTIONS.has(word))
    throw notAllowed(`${token?.value} is not allowed.`, { sql, at: token?.start });
  if (MISSING.test(word)) {
    const said = `no such function: ${token?.value}. For the median write ${MEDIAN}.`;
    throw queryProblem(said, { sql, at: token?.start });
  }
}
