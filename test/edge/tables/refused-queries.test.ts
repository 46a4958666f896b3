import { beforeAll, describe, expect, it } from "vitest";
import { call, json, newId } from "../../support/edge.ts";
import { refusedStatements } from "../../../packages/query/test/refused-statements.ts";

const ROWS = 100_000;
const id = newId();

function query(sql: string): Promise<Response> {
  return call("POST", `/conversations/${id}/query`, json({ sql }));
}

beforeAll(async () => {
  const lines = Array.from({ length: ROWS }, (_, id) => `{"id":${id},"k":${id % 3}}\n`).join("");
  const headers = { "content-type": "application/x-ndjson" };
  for (const name of ["big", "other"]) {
    const at = `/conversations/${id}/variables/${name}`;
    expect((await call("PUT", at, { body: lines, headers })).status).toBe(201);
    expect((await query(`SELECT count(*) AS n FROM ${name}`)).status).toBe(200);
  }
});

describe("40 forbidden or expensive statements in an object", () => {
  it.each(refusedStatements)("%j is refused", async (sql) => {
    const { code } = await (await query(sql)).json<{ code: string }>();
    expect(["bad_query", "query_not_allowed", "query_too_expensive"]).toContain(code);
  });

  it("change nothing, and the conversation still answers", async () => {
    const [response] = await Promise.all([
      query("SELECT count(*) AS n FROM big"),
      query("SELECT count(*) FROM big, other"),
    ]);
    expect(await response.json()).toEqual([{ n: ROWS }]);
  });
});
