import { expect, it } from "vitest";
import { call, json, newId, put } from "../../support/edge.ts";
import { hostileStatements, hostileTables, REFUSALS } from "../../../packages/query/test/hostile-statements.ts";

const id = newId();

function query(sql: string): Promise<Response> {
  return call("POST", `/conversations/${id}/query`, json({ sql }));
}

it("hostile statements are refused before the object of tables runs them", async () => {
  for (const [name, value] of Object.entries(hostileTables)) {
    await put(id, name, value);
    expect((await query(`SELECT count(*) AS n FROM ${name}`)).status).toBe(200);
  }
  const others: (readonly [sql: string, code: string])[] = [];
  let executed = 0;
  for (const sql of hostileStatements) {
    const response = await query(sql);
    const { code } = await response.json<{ code: string }>();
    if (response.ok) executed++;
    if (!REFUSALS.includes(code)) others.push([sql, code]);
  }
  expect(others).toEqual([]);
  expect(executed).toBe(0);
  expect((await query("SELECT count(*) AS n FROM big")).status).toBe(200);
});
