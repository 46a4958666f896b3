import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/value/json.ts";
import { call, get, json, newId, problemIn, put } from "../../support/edge.ts";
import { getWith, NDJSON, TEXT } from "../../support/values.ts";

/** Half of an emoji, which JSON can hold and UTF-8 cannot. */
const HALF = "\ud83d";
const RECORDS = [{ note: "whole" }, { note: `a😀b${HALF}c`, deep: { text: HALF } }];

const path = (id: string, at: string) => `/conversations/${id}/${at}`;

async function withRecords(value: Json = RECORDS): Promise<string> {
  const id = newId();
  await put(id, "rows", value);
  return id;
}

const query = (id: string, sql: string) => call("POST", path(id, "query"), json({ sql }));

describe("half of a character stays where JSON carries it", () => {
  it.each<[channel: string, read: (id: string) => Promise<unknown>]>([
    ["JSON", async (id) => (await get(id, "rows")).json()],
    [
      "NDJSON",
      async (id) => {
        const lines = await (await getWith(id, "rows", { accept: NDJSON })).text();
        return lines
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as Json);
      },
    ],
    [
      "an export and an import",
      async (id) => {
        const file = await (await call("GET", path(id, "export"))).text();
        const init = { body: file, headers: { "content-type": NDJSON } };
        const made = await call("POST", "/conversations/import", init);
        return (await get((await made.json<{ id: string }>()).id, "rows")).json();
      },
    ],
    [
      "a part, also where text is asked for",
      async (id) => {
        const part = await getWith(id, "rows?path=[1].note", { accept: TEXT });
        expect(part.headers.get("content-type")).toBe("application/json");
        return [RECORDS[0], { ...RECORDS[1], note: await part.json() }];
      },
    ],
    [
      "interpolation in a text",
      async (id) => {
        const body = { text: "<{{rows[1].note}}>", syntax: "mustache" };
        const answer = await call("POST", path(id, "interpolate"), json(body));
        const { text: said } = await answer.json<{ text: string }>();
        return [RECORDS[0], { ...RECORDS[1], note: said.slice(1, -1) }];
      },
    ],
  ])("%s", async (_, read) => {
    expect(await read(await withRecords())).toEqual(RECORDS);
  });
});

describe("half of a character is refused with its place", () => {
  const AT_NOTE = { path: "[1].note", character: 4 };
  it.each<[channel: string, ask: (id: string) => Promise<Response>, place: object]>([
    ["CSV", (id) => getWith(id, "rows", { accept: "text/csv" }), AT_NOTE],
    [
      "a part as CSV",
      (id) => getWith(id, "rows?offset=1", { accept: "text/csv" }),
      { character: 4 },
    ],
    ["a table of a query", (id) => query(id, "SELECT count(*) FROM rows"), AT_NOTE],
    ["a parameter", (id) => query(id, "SELECT $rows[1].note AS a"), { path: "[1].note" }],
    [
      "a list of parameters",
      (id) => query(id, "SELECT 1 WHERE 'a' IN $rows[*].note"),
      { character: 4 },
    ],
    ["a statement", (id) => query(id, `SELECT 'é${HALF}'`), { path: "", character: 10 }],
    [
      "a title",
      (id) => call("PATCH", `/conversations/${id}`, json({ title: `a${HALF}` })),
      { character: 2 },
    ],
  ])("%s", async (_, ask, place) => {
    const problem = await problemIn(await ask(await withRecords()), "bad_value");
    expect(problem).toMatchObject(place);
    expect(problem.detail).toMatch(/^Half of a character \(a lone surrogate\).* cannot hold it\. /);
  });

  it.each([
    ["messages", '{"message":"Ein Caf', '"}'],
    [
      "messages",
      '{"messages":[{"role":"user"},{"role":"user","parts":[{"type":"text","text":"Caf',
      '"}]}]}',
    ],
    ["interpolate", '{"syntax":"mustache","text":"Caf', '"}'],
    ["query", '{"sql":"SELECT Caf', '"}'],
  ])("a JSON body that is not UTF-8: %s", async (at, before, after) => {
    for (const bytes of [[0xe9], [0xed, 0xa0, 0xbd]]) {
      const encoder = new TextEncoder();
      const body = Uint8Array.from([...encoder.encode(before), ...bytes, ...encoder.encode(after)]);
      const headers = { "content-type": "application/json" };
      const refused = await call("POST", path(newId(), at), { body, headers });
      const { detail } = await problemIn(refused, "bad_json");
      expect(detail).toMatch(/^The body is not UTF-8 after ".*Caf.?"; send it in UTF-8\.$/);
    }
  });
});
