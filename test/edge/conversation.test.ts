import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import {
  ask,
  call,
  json,
  messagesOf,
  newId,
  objectOf,
  put,
  chunksIn,
  framesIn,
  namesIn,
  problemIn,
  callWith,
  ORIGIN,
} from "../support/edge.ts";
import { slow } from "../support/slow.ts";
import { tool } from "ai";
import * as z from "zod";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import { type OwnRuntime, withRuntime } from "../support/own-runtime.ts";
import {
  finish,
  type Script,
  scriptedModel,
  text,
  toolCall,
} from "../../packages/testing/src/testing.ts";
import { alarmOf, blobsOf, tablesOf } from "../support/storage.ts";
import { anyBytes, putAs } from "../support/values.ts";
import { env, exports } from "cloudflare:workers";
import worker from "../../src/index.ts";
import packageJson from "../../package.json";

describe("an object that was evicted", () => {
  it("has its messages in both forms, and continues with them", async () => {
    const id = newId();
    await ask(id, "Weather in NYC?");
    const display = await messagesOf(id);
    const reference = await messagesOf(id, "?form=reference");
    await evictDurableObject(objectOf(id));
    expect(await messagesOf(id)).toEqual(display);
    expect(await messagesOf(id, "?form=reference")).toEqual(reference);
    expect(display.messages).toHaveLength(2);
    await evictDurableObject(objectOf(id));
    // The weather of New York is known only from the history.
    const { message, variables } = await ask(id, "Compare it with London");
    expect(JSON.stringify(message.parts)).toContain("$get_weather_nyc");
    expect(variables.map(({ name }) => name)).toContain("compare_weather_1");
    expect((await messagesOf(id)).messages).toHaveLength(4);
  });
});

describe("what is written", () => {
  it("is counted exactly in a turn's cost", async () => {
    const id = newId();
    const { cost } = await ask(id, "Weather in NYC?", { input: { a: 1 } });
    const rows = await runInDurableObject(objectOf(id), (_, { storage: { sql } }) => {
      const count = (table: string) => sql.exec(`SELECT * FROM ${table}`).toArray().length;
      return count("message") + count("variable") + count("event");
    });
    expect(rows).toBe(5);
    const turnRows = ["begin", "step", "results", "end"].length;
    expect(cost.rowsWritten).toBe(rows + turnRows + (cost.alarms ?? 0));
  });

  it("leaves nothing of a large value that was replaced, deleted or reset", async () => {
    const id = newId();
    const chunks = () =>
      runInDurableObject(objectOf(id), (_, { storage: { sql } }) =>
        sql.exec("SELECT * FROM chunk").toArray(),
      );
    const large = "x".repeat(limits.maxRowBytes + 1);
    const remove = (rest: string) => call("DELETE", `/conversations/${id}/variables${rest}`);
    for (const name of ["a", "a", "b", "c"]) await put(id, name, large);
    expect(await chunks()).toHaveLength(4);
    // A variable keeps two earlier versions.
    for (const left of [4, 3, 2]) {
      await put(id, "a", "small");
      expect(await chunks()).toHaveLength(left);
    }
    await remove("/b");
    expect(await chunks()).toHaveLength(1);
    for (const name of ["c", "d"]) await put(id, name, large);
    expect(await chunks()).toHaveLength(3);
    await remove("/c");
    expect(await chunks()).toHaveLength(1);
    await put(id, "d", "small");
    await remove("");
    expect(await chunks()).toEqual([]);
  });

  it("has no row that is too large for the platform", slow, async () => {
    const id = newId();
    for (const size of [1_900_000, 3_000_000]) {
      const init = json({ message: "x".repeat(size) }, { accept: "text/plain" });
      await (await call("POST", `/conversations/${id}/messages`, init)).text();
    }
    await put(id, "a", "€".repeat(3_000_000));
    const largest = await runInDurableObject(objectOf(id), (_, { storage: { sql } }) => {
      const bytesOf = (table: string, column: string) =>
        sql
          .exec<{ bytes: number | null }>(
            `SELECT max(length(CAST(${column} AS BLOB))) AS bytes FROM ${table}`,
          )
          .one().bytes;
      return [bytesOf("message", "body"), bytesOf("chunk", "bytes"), bytesOf("variable", "value")];
    });
    for (const bytes of largest) expect(bytes ?? 0).toBeLessThanOrEqual(limits.maxSqlValueBytes);
  });
});

interface Conversation {
  readonly id: string;
  readonly title: string | null;
  readonly status: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly messages: number;
  readonly variables: number;
  readonly bytes: number;
}

async function about(id: string): Promise<Conversation> {
  const response = await call("GET", `/conversations/${id}`);
  expect(response.status).toBe(200);
  return response.json<Conversation>();
}

function retitle(id: string, title: string): Promise<Response> {
  return call("PATCH", `/conversations/${id}`, json({ title }));
}

describe("a conversation", () => {
  it("that never existed is not found, and is not created by requests for it", async () => {
    const id = newId();
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
    await problemIn(await retitle(id, "t"), "conversation_not_found");
    await problemIn(await call("DELETE", `/conversations/${id}`), "conversation_not_found");
    expect(await messagesOf(id)).toEqual({ messages: [] });
    expect(await namesIn(id)).toEqual([]);
    expect(await tablesOf(id)).toEqual([]);
    expect(await alarmOf(id)).toBeNull();
  });

  it("is not created by a refused write, either", async () => {
    const id = newId();
    const at = `/conversations/${id}/variables/a`;
    const type = "application/json";
    const refused = [
      putAs(id, "a", { body: "{", type }),
      putAs(id, "a", { body: "1", type, headers: { "if-match": "*" } }),
      putAs(id, "a", { body: new Uint8Array([0x61, 0xff]), type: "text/plain" }),
      putAs(id, "a", { body: new Uint8Array(9_000_000).fill(0xff), type: "text/plain" }),
      call("PUT", at, { body: new Uint8Array(1) }),
    ];
    for (const response of await Promise.all(refused)) {
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      await response.text();
    }
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
    expect(await tablesOf(id)).toEqual([]);
    expect(await alarmOf(id)).toBeNull();
    expect(await blobsOf(id)).toEqual([]);
    // A refused request creates nothing in an existing, nearly empty conversation either.
    await put(id, "a", 1);
    await call("DELETE", at);
    await problemIn(await putAs(id, "a", { body: "{", type }), "bad_json");
    expect(await about(id)).toMatchObject({ variables: 0 });
  });

  it("shows its contents and its times", async () => {
    const id = newId();
    const before = Date.now();
    const info = await put(id, "a", "é€😀");
    const first = await about(id);
    expect(first).toEqual({
      id,
      title: null,
      status: "idle",
      createdAt: expect.any(String),
      updatedAt: info.updatedAt,
      messages: 0,
      variables: 1,
      bytes: 9,
    });
    expect(Date.parse(first.createdAt)).toBeGreaterThanOrEqual(before);
    expect(first.createdAt <= first.updatedAt).toBe(true);
    await (await putAs(id, "b", { body: anyBytes(100_000), type: "image/png" })).text();
    const { variables } = await ask(id, "Weather in NYC?");
    const weather = variables.find(({ name }) => name === "get_weather_nyc")?.bytes ?? 0;
    await evictDurableObject(objectOf(id));
    const second = await about(id);
    const { createdAt } = first;
    expect(second).toMatchObject({ createdAt, messages: 2, variables: 3 });
    expect(second.bytes).toBe(100_009 + weather);
    expect(second.updatedAt >= first.updatedAt).toBe(true);
    await call("DELETE", `/conversations/${id}/variables`);
    expect(await about(id)).toMatchObject({ messages: 2, variables: 0, bytes: 0 });
  });
});

/** A model that waits for `go()` in its second step, and a tool that does nothing. */
function held(): { readonly options: RuntimeOptions; go(): void; readonly begun: Promise<void> } {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const steps = [
    [toolCall("look", { city: "Oslo" }), finish("tool-calls")],
    async (): Promise<Script> => {
      begun.resolve();
      await gate.promise;
      return [text("Done: $a $given"), finish()];
    },
  ];
  const look = tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city });
  const agent = { name: "a", description: "", instructions: "", tools: { look } };
  const options: RuntimeOptions = {
    agents: [agent],
    model: scriptedModel(steps),
    retention: { quotaBytes: 1_000 },
  };
  return { options, go: () => gate.resolve(), begun: begun.promise };
}

describe("a turn that runs", () => {
  const say = ({ call }: OwnRuntime) =>
    call("POST", "/conversations/c/messages", json({ message: "Go on." }));

  it("reports every variable that others change meanwhile in its stream", async () => {
    const { options, go, begun } = held();
    await withRuntime(options, async (own) => {
      const at = (name: string) => `/conversations/c/variables/${name}`;
      await own.call("PUT", at("old"), json("o".repeat(500)));
      const turn = await say(own);
      await begun;
      await own.call("PUT", at("a"), json(1));
      await own.call("PUT", at("a?mode=new"), json(2));
      await own.call("PATCH", at("a"), json({ pinned: true, description: "d" }));
      await own.call("PUT", at("s?visibility=secret"), json("hidden"));
      // Needs space: the unused variable is evicted.
      await own.call("PUT", at("given"), json("g".repeat(600)));
      await own.call("DELETE", at("s"));
      expect((await own.call("PUT", at("b"), json("b".repeat(2_000)))).status).toBe(422);
      go();
      const chunks = chunksIn(await framesIn(turn));
      const told = chunks.flatMap((chunk) =>
        chunk.type === "data-variable" ? [{ ...chunk, data: chunk.data as VariableInfo }] : [],
      );
      const shown = told.map(({ data, transient }) => {
        const { name, version, pinned, visibility } = data;
        return [name, version, pinned, visibility, "reason" in data ? data.reason : "", transient];
      });
      expect(shown).toEqual([
        ["look_oslo", 1, false, "model", "", true],
        ["a", 1, false, "model", "", true],
        ["a_000", 1, false, "model", "", true],
        ["a", 1, true, "model", "", true],
        ["s", 1, false, "secret", "", true],
        ["old", 1, false, "model", "quota", true],
        ["given", 1, false, "model", "", true],
      ]);
      expect(JSON.stringify(chunks)).not.toContain("hidden");
      expect(told[3]?.data.description).toBe("d");
      // The answer can refer to values that were saved meanwhile.
      const deltas = chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : ""));
      expect(deltas.join("")).toBe(`Done: 1 ${"g".repeat(600)}`);
    });
  });
});

describe("placement", () => {
  const call = callWith({ AUTH: "none" });

  describe("where a conversation lives", () => {
    it("is refused if the jurisdiction cannot be kept", async () => {
      const local = callWith({ AUTH: "none", JURISDICTION: "eu" });
      const at = `/conversations/${newId()}`;
      const asked = await local("POST", `${at}/messages`, json({ message: "Hello" }));
      const { detail } = await problemIn(asked, "bad_configuration");
      expect(detail).toContain("JURISDICTION=eu cannot be kept here");
      await problemIn(await local("GET", "/conversations"), "bad_configuration");
      await problemIn(await call("GET", at), "conversation_not_found");
    });

    it("is an error in a Worker that does not bind the objects", async () => {
      const request = new Request(`http://localhost/conversations/${newId()}`);
      const { CONVERSATIONS: _, ...bindings } = env;
      const response = await worker.fetch(request, { ...bindings, AUTH: "none" });
      const { detail } = await problemIn(response, "not_configured");
      expect(detail).toContain('name = "CONVERSATIONS"\nclass_name = "Conversation"');
      expect(detail).toContain('new_sqlite_classes = ["Conversation"]');
    });
  });
});

describe("GET /health", () => {
  it("answers without a key on the deployed Worker", async () => {
    const response = await exports.default.fetch(`${ORIGIN}/health`);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ ok: true, version: packageJson.version });
  });

  it.each([
    {},
    { AUTH: "none" },
    { AUTH: "bearer", API_KEYS: '{"0123456789abcdef":"t"}' },
    { AUTH: "bearer", API_KEYS: "broken" },
    { AUTH: "unknown" },
  ])("answers with the settings %j, under any host", async (settings) => {
    const response = await callWith(settings)("GET", "http://byref.example/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ ok: true });
  });
});
