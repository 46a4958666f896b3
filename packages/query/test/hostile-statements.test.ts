import { expect, it } from "vitest";
import { codeOf } from "../../../src/errors.ts";
import { slow } from "../../../test/support/slow.ts";
import { hostileStatements, hostileTables, REFUSALS } from "./hostile-statements.ts";
import { Queries } from "./queries.ts";

it("hostile statements are refused before node:sqlite runs them", slow, async () => {
  const queries = new Queries();
  for (const [name, value] of Object.entries(hostileTables)) {
    await queries.store.save({ name, value });
    await queries.records(`SELECT count(*) AS n FROM ${name}`);
  }
  const before = queries.read;
  const codes: (readonly [sql: string, code: string])[] = [];
  for (const sql of hostileStatements) {
    codes.push([sql, codeOf(await queries.records(sql).catch((error: unknown) => error))]);
  }
  const executed = queries.read - before;
  expect(codes.filter(([, code]) => !REFUSALS.includes(code))).toEqual([]);
  expect(executed).toBe(0);
  expect(hostileStatements.length).toBeGreaterThan(100);
});
