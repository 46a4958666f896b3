import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { convertToModelMessages, streamText, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, it, vi } from "vitest";
import {
  type ConversationVariables,
  conversationVariables,
  type ConversationVariablesOptions,
} from "../../packages/adapters/src/durable.ts";
import { scriptedModel } from "byref/testing";
import { call, namesIn, newId, put } from "../support/edge.ts";
import { exportOf, fileOf, importFile, linesIn } from "../support/transfer.ts";
import { messageFrom } from "../support/turn-client.ts";

/** Runs `work` in an object, with variables that are not in memory yet. */
function inObject<Result>(
  work: (variables: ConversationVariables, state: DurableObjectState) => Promise<Result>,
  id = env.CONVERSATIONS.newUniqueId(),
  options: ConversationVariablesOptions = {},
): Promise<Result> {
  return runInDurableObject(env.CONVERSATIONS.get(id), (_, state) =>
    work(conversationVariables(state, { bucket: env.BLOBS, ...options }), state),
  );
}

/** Returns the message that a stock client builds from a response. */
async function messageOf(response: Response): Promise<UIMessage> {
  const text = await response.text();
  const chunks = text
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice("data: ".length)) as UIMessageChunk);
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  const last = await messageFrom(chunks);
  if (last === undefined) throw new Error("There was no message.");
  return last;
}

const textOf = ({ parts }: UIMessage) =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("");

const ask = (text: string): UIMessage => ({
  id: crypto.randomUUID(),
  role: "user",
  parts: [{ type: "text", text }],
});

interface Turn extends Pick<ConversationVariables, "prepareStep"> {
  expand(response: Response): Response;
}

describe("conversationVariables", () => {
  // That all tables have a prefix: packages/adapters/test/durable/prefixed-sql.test.ts.
  it("are back in a restarted object, which has no alarm for them", () =>
    inObject(async (variables, state) => {
      await variables.store.save({ name: "a", value: 1 });
      expect(await state.storage.getAlarm()).toBeNull();
      expect(await conversationVariables(state).store.read("a")).toBe(1);
    }));

  it("show no model a sealed value, also if the framework's history has only what was shown", () =>
    inObject(async (variables, state) => {
      await variables.store.save({ name: "code", value: "1815-12-10", visibility: "sealed" });
      const model = scriptedModel(["Your code is $code, Ada.", "Again: $code."]);
      const answer = async (messages: UIMessage[], { prepareStep, expand }: Turn) => {
        const result = streamText({
          model,
          messages: await convertToModelMessages(messages),
          prepareStep,
        });
        return messageOf(expand(result.toUIMessageStreamResponse()));
      };
      const turn = (of: ConversationVariables): Turn => ({
        prepareStep: of.prepareStep,
        expand: (response) => of.expand(response),
      });
      const shown = textOf(await answer([ask("My code?")], turn(variables)));
      expect(shown).toBe("Your code is 1815-12-10, Ada.");
      const said = (text: string): UIMessage => ({
        id: crypto.randomUUID(),
        role: "assistant",
        parts: [{ type: "text", text }],
      });
      // A restarted object. One answer in the history is complete, the other was cut off.
      const next = turn(conversationVariables(state));
      await answer([ask("My code?"), said(shown), said(shown.slice(0, 19)), ask("Again?")], next);
      const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
      expect(prompt).not.toContain("1815");
      expect(prompt).toContain("Your code is $code, Ada.");
    }));

  it("set the object's alarm themselves if they own it, and never put it off", () =>
    inObject(
      async (variables, { storage }) => {
        await variables.store.save({ name: "a", value: 1, ttlMs: 90_000 });
        await expect.poll(() => storage.getAlarm()).not.toBeNull();
        const armedMs = (await storage.getAlarm()) ?? 0;
        expect(armedMs).toBeLessThanOrEqual(Date.now() + 90_000);
        await variables.store.save({ name: "b", value: 1, ttlMs: 900_000 });
        await variables.sweep();
        expect(await storage.getAlarm()).toBe(armedMs);
        await storage.deleteAlarm();
      },
      undefined,
      { alarm: "own" },
    ));

  it("are evicted by the object's handler if they own the alarm", async () => {
    const stub = env.CONVERSATIONS.get(env.CONVERSATIONS.newUniqueId());
    const options = { alarm: "own", idleMs: 3_600_000 } as const;
    // From now on only the test moves the clock. The platform's alarms keep their own time.
    vi.useFakeTimers({ toFake: ["Date"] });
    await runInDurableObject(stub, async (instance, state) => {
      const variables = conversationVariables(state, options);
      Object.assign(instance, { alarm: () => variables.sweep() });
      await variables.store.save({ name: "a", value: 1, ttlMs: 3_600_000 });
      await expect.poll(() => state.storage.getAlarm()).not.toBeNull();
    });
    vi.setSystemTime(Date.now() + 7_200_000);
    await runDurableObjectAlarm(stub);
    await runInDurableObject(stub, async (_, state) => {
      expect(conversationVariables(state, options).store.list()).toEqual([]);
      expect(await state.storage.getAlarm()).toBeNull();
    });
  });
});

const newObject = () => env.CONVERSATIONS.newUniqueId();
const streamOf = (text: string) => new Blob([text]).stream();
const fileFrom = (id: DurableObjectId) =>
  inObject((variables) => new Response(variables.export()).text(), id);
const importTo = (id: DurableObjectId, file: string) =>
  inObject((variables) => variables.import(streamOf(file)), id);
const keysOf = async (id: DurableObjectId) =>
  (await env.BLOBS.list({ prefix: `byref_${id.toString()}/` })).objects.map(({ key }) => key);

function tablesOf({ storage }: DurableObjectState): string[] {
  const rows = storage.sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
  return rows.map(({ name }) => String(name)).filter((name) => name.startsWith("byref_"));
}

const rows = Array.from({ length: 3_000 }, (_, index) => ({ id: index, note: "as long as this" }));
const photo = new Uint8Array(200_000).fill(7);

/** Creates an object with variables of every kind and storage location. */
async function filledObject(): Promise<DurableObjectId> {
  const id = newObject();
  await inObject(async ({ store }) => {
    await store.save({ name: "rows", value: rows, tool: "list_rows", input: { all: true } });
    await store.save({ name: "note", value: "first" });
    await store.save({ name: "note", value: "second", keepsVersion: true });
    await store.save({ name: "letter", value: "sealed words", visibility: "sealed" });
    await store.save({ name: "key", value: "secret words", visibility: "secret" });
    await store.save({ name: "gone", value: 1, ttlMs: 1 });
    const bytes = await store.receive(new Blob([photo]).stream(), "image/png");
    await store.save({ name: "photo", value: bytes, pinned: true });
  }, id);
  return id;
}

it("the variables of an object move into another object with their versions, labels and bytes", async () => {
  const [from, to] = [await filledObject(), newObject()];
  const before = await inObject(async ({ store }) => store.list(), from);
  await importTo(to, await fileFrom(from));
  await inObject(async ({ store }, state) => {
    const seen = ({
      name,
      version,
      visibility,
      pinned,
      bytes,
      preview,
      tool,
    }: (typeof before)[0]) => ({ name, version, visibility, pinned, bytes, preview, tool });
    const moved = before.filter(({ name }) => name !== "key" && name !== "gone");
    expect(store.list().map(seen)).toEqual(moved.map(seen));
    expect(await store.read("rows")).toEqual(rows);
    expect(await store.read("letter")).toBe("sealed words");
    const opened = store.open("photo");
    expect(await opened?.read(0, photo.length)).toEqual(photo);
    opened?.close();
    store.undo("note");
    expect(await store.read("note")).toBe("first");
    expect(store.tombstone("key")?.reason).toBe("left_out");
    expect(tablesOf(state).some((name) => name.startsWith("byref_import_"))).toBe(false);
  }, to);
  expect(await keysOf(to)).toHaveLength(1);
  // Each object has its own copy of the bytes.
  await inObject(async (variables) => {
    variables.store.delete("photo");
    await variables.sweep();
  }, from);
  expect(await keysOf(from)).toEqual([]);
  expect(await keysOf(to)).toHaveLength(1);
});

it("the variables of an object have the format of the runtime's conversations, in both directions", async () => {
  const from = await filledObject();
  const imported = await importFile(await fileFrom(from));
  expect(imported.status).toBe(201);
  const { id } = await imported.json<{ id: string }>();
  expect(await namesIn(id)).toEqual(["rows", "note", "letter", "photo"]);
  const served = await call("GET", `/conversations/${id}/variables/rows`);
  expect(await served.json()).toEqual(rows);
  const other = newId();
  await put(other, "a", [1, 2]);
  const own = linesIn(await exportOf(other)).filter(({ type }) => type !== "events");
  const to = newObject();
  await importTo(to, await fileOf(own));
  expect(await inObject(({ store }) => store.read("a"), to)).toEqual([1, 2]);
});

it("the variables of an object are exported as they were at one moment: a change meanwhile is the end of the file", () =>
  inObject(async (variables) => {
    await variables.store.save({ name: "a", value: "x".repeat(1_000_000) });
    let text = "";
    for await (const piece of variables.export().pipeThrough(new TextDecoderStream())) {
      if (text === "") await variables.store.save({ name: "b", value: 1 });
      text += piece;
    }
    expect(linesIn(text).at(-1)).toMatchObject({ type: "error", code: "conflict" });
  }));

it("the variables of an object are not replaced: an object with variables refuses a file", async () => {
  const from = await filledObject();
  const file = await fileFrom(from);
  await expect(importTo(from, file)).rejects.toMatchObject({ code: "conversation_exists" });
  const to = newObject();
  await inObject(async (variables) => {
    const half = new TransformStream<Uint8Array, Uint8Array>();
    const writer = half.writable.getWriter();
    const importing = variables.import(half.readable);
    const refused = expect(importing).rejects.toMatchObject({ code: "conversation_exists" });
    // A turn saves a variable during the import.
    await variables.store.save({ name: "mine", value: 1 });
    await writer.write(new TextEncoder().encode(file));
    await writer.close();
    await refused;
    expect(variables.store.list().map(({ name }) => name)).toEqual(["mine"]);
  }, to);
});
