import { beforeAll, describe, expect, it } from "vitest";
import { codeOf } from "../../../src/errors.ts";
import { Queries } from "./queries.ts";

const REFUSALS = ["bad_query", "limit_exceeded", "query_not_allowed", "query_too_expensive"];
const queries = new Queries();

beforeAll(async () => {
  const tables = {
    texts: Array.from({ length: 1_000 }, (_, id) => ({
      id,
      t: "a".repeat(id === 0 ? 400_000 : 9),
    })),
    one: [{ t: "a".repeat(100_000) }],
  };
  for (const [name, value] of Object.entries(tables)) await queries.store.save({ name, value });
});

const nested = (count: number, open: string, inner: string) =>
  `${open.repeat(count)}${inner}${")".repeat(count)}`;
const doubled = (count: number, join: (text: string) => string, inner: string): string =>
  count === 0 ? inner : doubled(count - 1, join, join(inner));

const list = `'[${Array.from({ length: 300 }, (_, at) => at).join(",")}]'`;
const joined = (call: (at: number) => string) =>
  Array.from({ length: 4 }, (_, at) => call(at)).join(", ");

describe("a short statement that makes much of little", () => {
  it.each([
    `FROM one AS window, ${joined((at) => `json_each(${list}) j${at}`)}`,
    `FROM one window, ${joined((at) => `json_each(${list}) AS j${at}`)}`,
    `FROM one AS over, ${joined((at) => `json_tree(${list}) j${at}`)}`,
    `FROM one AS filter JOIN ${joined((at) => `"json_each"(${list}) j${at}`)}`,
    `FROM one AS "order", ${joined((at) => `[json_each](${list}) AS [group${at}]`)}`,
    `FROM one window, ${joined((at) => `json_each j${at}`)} WHERE ${["j0", "j1", "j2", "j3"].map((alias) => `${alias}.json = ${list}`).join(" AND ")}`,
    // The names of the engine's own parts of a table, of which the first is one row.
    ...["chunks of $1", "elements of $1", "rows of $1"].map(
      (name) => `FROM one window, ${joined((at) => `json_each(${list}) "${name}${at || ""}"`)}`,
    ),
    // The reader sees small functions under the same names.
    `, (SELECT count(*) FROM json_each('[1]') j0, json_each('[1]') j1, json_each('[1]') j2, json_each('[1]') j3) FROM one window, ${joined((at) => `json_each(${list}) j${at}`)}`,
  ])("SELECT count(*) %s is refused", async (from) => {
    const before = queries.read;
    const refusal = await queries
      .records(`SELECT count(*) ${from}`)
      .catch((error: unknown) => error);
    expect(REFUSALS).toContain(codeOf(refusal));
    expect(queries.read).toBe(before);
  });

  it.each([
    `SELECT length(${nested(30, "hex(", "'a'")})`,
    `SELECT length(${doubled(5, (text) => `replace(${text}, 'a', '${"a".repeat(1_000)}')`, "'a'")})`,
    "SELECT length(group_concat(x.t, y.t)) FROM texts x, texts y",
    "SELECT length(replace(hex(zeroblob(1000000)), '0', 'aa'))",
    `SELECT count(*) FROM texts x, texts y WHERE x.t LIKE '%' || y.t || '%'`,
  ])("%s is refused", async (sql) => {
    const before = queries.read;
    const refusal = await queries.records(sql).catch((error: unknown) => error);
    expect(REFUSALS).toContain(codeOf(refusal));
    expect(queries.read).toBe(before);
  });

  it.each([
    `SELECT t LIKE '${"%a".repeat(20)}%b' AS n FROM one`,
    `SELECT t LIKE '${"%a_".repeat(14)}%b' AS n FROM one`,
    `SELECT t GLOB '${"*a".repeat(20)}*b' AS n FROM one`,
    `SELECT t GLOB '${"*[a-z]".repeat(6)}*b' AS n FROM one`,
  ])("may match a pattern with many wildcards in one pass over the text: %s", async (sql) => {
    expect(await queries.records(sql)).toEqual([{ n: 0 }]);
  });
});
