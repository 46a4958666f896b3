import { nodeQueryEngine } from "../../adapters/src/agent/node-query-engine.ts";
import { Labels } from "../../../src/store/labels.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { type Authority, QueryDatabases } from "../src/query-databases.ts";
import type { QueryEngine } from "../src/query-engine.ts";
import { runQuery } from "../src/run-query.ts";
import { readStatement, type Statement } from "../src/read-statement.ts";
import { readable, usable } from "../../../src/tool/variables/variable-target.ts";
import type { Json } from "../../../src/value/json.ts";
import { accessTo } from "./queries.ts";

/** Texts that are only in values of these labels. */
const SEALED = "7sealed7";
const SECRET = "7secret7";
const UNTRUSTED = "7untrusted7";

const records = (text: string): Json => [
  { id: 1, t: `${text}a`, n: 10 },
  { id: 2, t: `${text}b`, n: 20 },
];

/** The variables of each test, by how a model may see them. */
const VISIBLE = { p1: records("one"), p2: records("two"), list: ["x", "y"] };

interface WallOptions {
  /** The variables that the reader of statements finds. Default: it is the real one. */
  readonly believed?: readonly string[] | undefined;
  readonly open?: (authority: Authority) => QueryEngine;
  /** What the sealed and the secret values begin with. */
  readonly sealed?: string;
  readonly secret?: string;
}

/**
 * A conversation in which all has been queried that may be: by the model, and by a person, who may query sealed
 * values.
 */
export async function walled({
  believed,
  open = nodeQueryEngine,
  sealed = SEALED,
  secret = SECRET,
}: WallOptions = {}): Promise<{ store: MemoryStore; databases: QueryDatabases }> {
  let reader: typeof readStatement = readStatement;
  const databases = new QueryDatabases(open, (...given) => reader(...given));
  const store = new MemoryStore({ now: () => Date.UTC(2026, 0, 1) });
  for (const [name, value] of Object.entries(VISIBLE)) await store.save({ name, value });
  const untrusted = { sources: ["tool:web"], trusted: false } as const;
  await store.save({ name: "u1", value: records(UNTRUSTED), ...untrusted });
  await store.save({ name: "s1", value: records(sealed), visibility: "sealed" });
  await store.save({ name: "k1", value: records(secret), visibility: "secret" });
  const of = (most: Authority) =>
    accessTo(store, databases, { most, table: ({ name }) => usable(store, name) });
  // Twice: the second time makes real tables of them.
  for (const _ of [1, 2]) {
    for (const name of ["p1", "p2", "list", "u1"])
      await runQuery(`SELECT * FROM ${name}`, of("visible"));
    await runQuery("SELECT * FROM s1, u1, p1", of("person"));
  }
  if (believed !== undefined) reader = uncheckedReader(believed);
  return { store, databases };
}

/**
 * A reader of statements that checks nothing and is wrong: it finds only these variables, wherever their names are
 * in the text, and leaves everything else to SQLite.
 */
function uncheckedReader(believed: readonly string[]) {
  const names = new RegExp(`["'\`[]?\\b(${believed.join("|")})\\b["'\`\\]]?`, "gi");
  return (sql: string): Statement => {
    const found = believed.length === 0 ? [] : [...sql.matchAll(names)];
    const tokens = found.map(({ 0: { length }, 1: value = "", index }) => ({
      kind: "name" as const,
      start: index,
      end: index + length,
      value,
      word: value.toUpperCase(),
    }));
    return {
      sql,
      end: sql.length,
      tokens,
      tables: tokens.map((token) => ({
        name: token.value.toLowerCase(),
        path: [],
        token,
        alias: token.value,
        // As in the statement, so that its alias may follow.
        isAliased: true,
      })),
      parameters: [],
      aliases: new Map(),
      facts: {
        texts: [],
        names: (sql.match(/\w+/g) ?? []).map((name) => name.toLowerCase()),
        usesAllColumns: true,
        recursionSteps: 1,
        isJoin: false,
      },
    };
  };
}

/** Runs a statement as a model. Returns its records or the error's text, and whether the result is trusted. */
export async function answerTo(
  sql: string,
  store: MemoryStore,
  databases: QueryDatabases,
): Promise<{ readonly text: string; readonly trusted: boolean; readonly isDone: boolean }> {
  const labels = new Labels(store);
  try {
    const table = ({ name }: { readonly name: string }) => {
      labels.add(name);
      return readable(store, name);
    };
    const { records: text } = await runQuery(sql, accessTo(store, databases, { table }));
    return { text, trusted: labels.isTrusted, isDone: true };
  } catch (error) {
    return { text: String(error), trusted: false, isDone: false };
  }
}

/** What is wrong with an answer to a model; undefined if nothing is. */
export function leakIn(text: string, trusted: boolean): string | undefined {
  const leaks = [
    ...(text.includes(SEALED) ? ["sealed"] : []),
    ...(text.includes(SECRET) ? ["secret"] : []),
    ...(trusted && text.includes(UNTRUSTED) ? ["untrusted as trusted"] : []),
  ];
  return leaks.length === 0 ? undefined : leaks.join(", ");
}
