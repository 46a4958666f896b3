import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import {
  ask,
  call,
  json,
  newId,
  objectOf,
  put,
  namesIn,
  problemIn,
  callWith,
  get,
} from "../support/edge.ts";
import { slow } from "../support/slow.ts";
import * as z from "zod";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import { type OwnRuntime, withRuntime } from "../support/own-runtime.ts";
import { finish, type Script, scriptedModel, text, toolCall } from "byref/testing";
import { chunksIn } from "../support/turn-client.ts";
import { alarmOf, blobsOf, expectEmpty, expectNothing, inStorage } from "../support/storage.ts";
import { anyBytes, putAs } from "../support/values.ts";
import { env } from "cloudflare:workers";
import worker from "../../src/index.ts";
import { markDeleted } from "../../src/edge/deletion.ts";
import { DurableSql } from "../../src/edge/platform/durable-sql.ts";
import { R2Blobs } from "../../src/edge/platform/r2-blobs.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import { directoryOf } from "../support/directory.ts";
import { toolOf } from "../support/tool-of.ts";

async function about(id: string): Promise<Record<string, unknown> & { createdAt: string }> {
  const response = await call("GET", `/conversations/${id}`);
  expect(response.status).toBe(200);
  return response.json();
}

it("a conversation that never existed is not found, and is not created by requests for it", async () => {
  const id = newId();
  const titled = call("PATCH", `/conversations/${id}`, json({ title: "t" }));
  await problemIn(await titled, "conversation_not_found");
  await problemIn(await call("DELETE", `/conversations/${id}`), "conversation_not_found");
  await expectNothing(id);
});

it("a conversation is not created by a refused write, either", async () => {
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
  await expectNothing(id);
  // A refused request creates nothing in an existing, nearly empty conversation either.
  await put(id, "a", 1);
  await call("DELETE", at);
  await problemIn(await putAs(id, "a", { body: "{", type }), "bad_json");
  expect(await about(id)).toMatchObject({ variables: 0 });
});

it("a conversation shows its contents and its times", async () => {
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
  await (await putAs(id, "b", { body: anyBytes(100_000), type: "image/png" })).text();
  await ask(id, "Who are you?");
  await evictDurableObject(objectOf(id));
  const { createdAt } = first;
  expect(await about(id)).toMatchObject({ createdAt, messages: 2, variables: 2, bytes: 100_009 });
  await call("DELETE", `/conversations/${id}/variables`);
  expect(await about(id)).toMatchObject({ messages: 2, variables: 0, bytes: 0 });
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
  const look = toolOf({ city: z.string() }, ({ city }) => city);
  const agent = { name: "a", description: "", instructions: "", tools: { look } };
  const options: RuntimeOptions = {
    agents: [agent],
    model: scriptedModel(steps),
    retention: { quotaBytes: 1_000 },
  };
  return { options, go: () => gate.resolve(), begun: begun.promise };
}

const say = ({ call }: OwnRuntime) =>
  call("POST", "/conversations/c/messages", json({ message: "Go on." }));

it("a turn that runs reports every variable that others change meanwhile in its stream", async () => {
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
    const chunks = chunksIn(await turn.text());
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

it("a conversation is refused if its jurisdiction cannot be kept", async () => {
  const local = callWith({ AUTH: "none", JURISDICTION: "eu" });
  const at = `/conversations/${newId()}`;
  const asked = await local("POST", `${at}/messages`, json({ message: "Hello" }));
  const { detail } = await problemIn(asked, "bad_configuration");
  expect(detail).toContain("JURISDICTION=eu cannot be kept here");
  await problemIn(await local("GET", "/conversations"), "bad_configuration");
  await problemIn(await call("GET", at), "conversation_not_found");
});

it.each([
  ["CONVERSATIONS", "Conversation", "/conversations/x"],
  ["DIRECTORY", "Directory", "/conversations"],
])("a Worker that does not bind %s says how to", async (binding, className, path) => {
  const bindings = { ...env, [binding]: undefined, AUTH: "none" };
  const response = await worker.fetch(new Request(`http://localhost${path}`), bindings);
  const { detail } = await problemIn(response, "not_configured");
  expect(detail).toContain(`name = "${binding}"\nclass_name = "${className}"`);
  expect(detail).toContain(`new_sqlite_classes = ["${className}"]`);
});

async function remove(id: string): Promise<number> {
  const response = await call("DELETE", `/conversations/${id}`);
  await response.text();
  return response.status;
}

async function putBytes(id: string, at: string, length: number): Promise<void> {
  const response = await putAs(id, at, { body: anyBytes(length), type: "image/png" });
  expect(response.status).toBeLessThan(202);
  await response.text();
}

// A deletion of everything that there can be: test/edge/transfer/transfer.test.ts.
// A deletion while turns run and wait: test/edge-node/turns/faults.test.ts.
it("an incomplete deletion is completed by the alarm or the next request after the process has ended", async () => {
  for (const next of ["alarm", "put", "get"]) {
    const id = newId();
    await put(id, "a", 1);
    await putBytes(id, "bytes", 100_000);
    await inStorage(id, async (storage) => {
      markDeleted(new DurableSql(storage));
      await storage.setAlarm(Date.now() + 60_000);
    });
    await evictDurableObject(objectOf(id));
    // From now on every request answers as if the conversation had never existed.
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
    expect(await namesIn(id)).toEqual([]);
    if (next === "alarm") expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    if (next === "put") {
      expect(await put(id, "a", 2)).toMatchObject({ version: 1 });
      expect(await blobsOf(id)).toEqual([]);
      await evictDurableObject(objectOf(id));
      expect(await (await get(id, "a")).text()).toBe("2");
      expect(await remove(id)).toBe(204);
    }
    if (next === "get") await problemIn(await get(id, "bytes"), "variable_not_found");
    await expectNothing(id);
  }
});

it("an incomplete deletion is tried again when the bucket could not be emptied", async () => {
  const id = newId();
  await put(id, "a", 1);
  await putBytes(id, "bytes", 100_000);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const down = vi.spyOn(R2Blobs.prototype, "delete").mockRejectedValue(new Error("R2 is down."));
  expect(await remove(id)).toBe(500);
  await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  // A write is refused, so that new data is not mixed with the remains.
  const refused = await call("PUT", `/conversations/${id}/variables/a`, json(2));
  await problemIn(refused, "internal");
  expect((await blobsOf(id)).length).toBe(1);
  // The alarm tries at once. If it threw, the platform would give up after some retries.
  const isRearmed = async () => {
    const again = (await alarmOf(id)) ?? 0;
    expect(again).toBeGreaterThan(Date.now());
    expect(again).toBeLessThanOrEqual(Date.now() + 60_000);
  };
  await vi.waitFor(isRearmed, { interval: 50 });
  down.mockRestore();
  expect(await put(id, "a", 3)).toMatchObject({ version: 1 });
  expect(await blobsOf(id)).toEqual([]);
  expect(await namesIn(id)).toEqual(["a"]);
});

/** A tool that ignores its signal, and returns when `finish` is called. */
function stubborn() {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<unknown>();
  const load = toolOf({}, () => {
    begun.resolve();
    return held.promise;
  });
  const agent = { name: "a", description: "", instructions: "", tools: { load } };
  const model = scriptedModel([
    [toolCall("load", {}), finish("tool-calls")],
    [text("Done."), finish()],
    [text("Anew."), finish()],
  ]);
  const options: RuntimeOptions = { agents: [agent], model, transfer: transfers };
  return { options, begun: begun.promise, finish: held.resolve };
}

async function expectUnknown({ state }: OwnRuntime, tenant: string, id: string): Promise<void> {
  await expectEmpty(state.storage);
  expect((await env.BLOBS.list({ prefix: `${objectOf(id, tenant).id}/` })).objects).toEqual([]);
  expect((await directoryOf(tenant).list({ limit: 10 })).entries).toEqual([]);
}

it.each<{ what: string; late: string; ofTenant?: boolean }>([
  { what: "a text", late: "late" },
  { what: "a text, and it is its tenant's deletion,", late: "late", ofTenant: true },
  { what: "text for the bucket", late: "x".repeat(9_000_000) },
])(
  "a deletion during a turn whose tool returns $what later leaves nothing",
  slow,
  async ({ late, ofTenant }) => {
    const { options, begun, finish } = stubborn();
    const [tenant, id] = [`tenant ${newId()}`, newId()];
    const work = async (own: OwnRuntime) => {
      const turn = await say(own);
      await begun;
      if (ofTenant === true) await own.conversation().deleteBefore(Date.now());
      else expect((await own.call("DELETE", "/conversations/c")).status).toBe(204);
      expect(chunksIn(await turn.text()).at(-1)?.type).toBe("abort");
      finish(late);
      // A turn of a new conversation comes after whatever the old one still does.
      for (let task = 0; task < 20; task++) await scheduler.wait(1);
      await expectUnknown(own, tenant, id);
      expect(await (await say(own)).text()).not.toContain("late");
      const listed = await own.call("GET", "/conversations/c/variables");
      expect(await listed.json()).toEqual({ variables: [] });
    };
    await withRuntime(options, work, { name: JSON.stringify([tenant, id]) });
  },
);

it("a deletion during an import finds nothing yet, and deletes it afterwards", slow, async () => {
  const { options } = stubborn();
  const [tenant, id] = [`tenant ${newId()}`, newId()];
  let file = "";
  await withRuntime(options, async (own) => {
    const init = { body: anyBytes(1_000_000), headers: { "content-type": "image/png" } };
    await (await own.call("PUT", "/conversations/c/variables/v", init)).text();
    file = await (await own.call("GET", "/conversations/c/export")).text();
  });
  const work = async (own: OwnRuntime) => {
    const bytes = new TextEncoder().encode(file);
    const rest = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(bytes.slice(0, 600_000));
        await rest.promise;
        controller.enqueue(bytes.slice(600_000));
        controller.close();
      },
    });
    const request = new Request("http://conversation/transfer/import?id=c&labels=keep", {
      method: "POST",
      body,
    });
    const importing = own.conversation().fetch(request);
    await vi.waitUntil(() => own.state.storage.sql.databaseSize > 8_192);
    await problemIn(await own.call("DELETE", "/conversations/c"), "conversation_not_found");
    const deleting = own.conversation().deleteBefore(Date.now());
    rest.resolve();
    expect((await importing).status).toBe(201);
    await deleting;
    await expectUnknown(own, tenant, id);
  };
  await withRuntime(options, work, { name: JSON.stringify([tenant, id]) });
});
