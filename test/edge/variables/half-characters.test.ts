import { describe, expect, it } from "vitest";
import { finish, scriptedModel, text } from "../../../packages/testing/src/testing.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import type { Json } from "../../../src/value/json.ts";
import { call, get, json, newId, problemIn, put } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { chunksIn, textIn } from "../../support/turn-client.ts";
import { getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";

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

  it("NDJSON that is received", async () => {
    const id = newId();
    const body = RECORDS.map((record) => `${JSON.stringify(record)}\n`).join("");
    expect((await putAs(id, "rows", { body, type: NDJSON })).status).toBe(201);
    expect(await (await get(id, "rows")).json()).toEqual(RECORDS);
  });
});

describe("an answer with half of a character", () => {
  const answered = (accept: string, said = "It is $rows[1].note.") => {
    const agent: Agent = { name: "a", description: "", instructions: "", tools: {} };
    const model = scriptedModel([[text(said), finish()].flat()]);
    return withRuntime({ agents: [agent], model }, async (own) => {
      await own.call("PUT", "/conversations/c/variables/rows", json(RECORDS));
      const init = json({ message: `What is it${HALF}?` }, { accept });
      const answer = await (await own.call("POST", "/conversations/c/messages", init)).text();
      const stored = await own.call("GET", "/conversations/c/messages");
      return { answer, stored: await stored.json<{ messages: readonly object[] }>() };
    });
  };
  const SAID = `It is a😀b${HALF}c.`;

  it("has it in the stream, and in the history, as the question has", async () => {
    const { answer, stored } = await answered("text/event-stream");
    expect(textIn(chunksIn(answer))).toBe(SAID);
    expect(stored.messages).toMatchObject([
      { parts: [{ text: `What is it${HALF}?` }] },
      { parts: [{ type: "step-start" }, { text: SAID }] },
    ]);
  });

  it("has it as JSON", async () => {
    const { answer } = await answered("application/json");
    expect(JSON.stringify(JSON.parse(answer))).toContain(JSON.stringify(SAID));
  });

  it.each([
    ["It is $rows[1].note.", "It is a😀b\ufffdc.", 13],
    ["$rows[1].deep.text", "\ufffd", 1],
  ])("says in plain text from which byte on it is replaced: %s", async (written, said, byte) => {
    const { answer } = await answered("text/plain", written);
    const [first, last, ...rest] = answer.split("\n");
    expect([first, rest]).toEqual([said, [""]]);
    expect(last).toMatch(`[error: bad_value] Half of a character (a lone surrogate) is replaced`);
    expect(last).toContain(` from byte ${byte} on`);
    expect(new TextEncoder().encode(said).slice(byte - 1, byte + 2)).toEqual(
      new TextEncoder().encode("\ufffd"),
    );
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

  it.each<[what: string, value: Json, place: object]>([
    ["a nested text", [{ a: 1, deep: [{ text: HALF }] }], { path: "[0].deep[0].text" }],
    ["a key", [{ [`k${HALF}`]: 1 }], { path: `[0]["k${HALF}"]`, character: 2 }],
    ["a value of a list", ["a", HALF], { path: "[1].value" }],
  ])("%s in a table", async (_, value, place) => {
    const id = await withRecords(value);
    const problem = await problemIn(await query(id, "SELECT * FROM rows"), "bad_value");
    expect(problem).toMatchObject(place);
  });

  it("and the rest of the data is not lost: CSV keeps JSON inside of cells, and a text that looks like an escape", async () => {
    const rows = [{ deep: { text: HALF }, note: String.raw`\ud83d \\ud83d` }];
    const id = await withRecords(rows);
    const csv = await getWith(id, "rows", { accept: "text/csv" });
    expect(await csv.text()).toBe(
      String.raw`deep,note` + "\r\n" + String.raw`"{""text"":""\ud83d""}",\ud83d \\ud83d` + "\r\n",
    );
    const escaped = await withRecords([{ note: String.raw`\ud83d \\ud83d` }]);
    expect(await (await query(escaped, "SELECT note FROM rows")).json()).toEqual([
      { note: String.raw`\ud83d \\ud83d` },
    ]);
  });

  it.each([
    ["é", 3],
    ["x".repeat(200_000), 200_001],
  ])("text that is not UTF-8, because it has one", async (before, byte) => {
    const bytes = [...new TextEncoder().encode(before), 0xed, 0xa0, 0xbd, 0x61];
    const body = Uint8Array.from(bytes);
    const problem = await problemIn(await putAs(newId(), "a", { body, type: TEXT }), "bad_value");
    expect(problem.detail).toBe(`The text is not UTF-8 at byte ${byte + 1}; send it in UTF-8.`);
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
