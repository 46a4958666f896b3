import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import {
  type ConversationVariables,
  conversationVariables,
} from "../../../packages/adapters/src/durable.ts";
import { call, namesIn, newId, put } from "../../support/edge.ts";
import { exportOf, fileOf, importFile, linesIn } from "../../support/transfer.ts";

/** Runs `work` in an object, with variables that are not in memory yet. */
function inObject<Result>(
  id: DurableObjectId,
  work: (variables: ConversationVariables, state: DurableObjectState) => Promise<Result>,
): Promise<Result> {
  return runInDurableObject(env.CONVERSATIONS.get(id), (_, state) =>
    work(conversationVariables(state, { bucket: env.BLOBS }), state),
  );
}

const newObject = () => env.CONVERSATIONS.newUniqueId();
const streamOf = (text: string) => new Blob([text]).stream();
const fileFrom = (id: DurableObjectId) =>
  inObject(id, (variables) => new Response(variables.export()).text());
const importTo = (id: DurableObjectId, file: string) =>
  inObject(id, (variables) => variables.import(streamOf(file)));
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
  await inObject(id, async ({ store }) => {
    await store.save({ name: "rows", value: rows, tool: "list_rows", input: { all: true } });
    await store.save({ name: "note", value: "first" });
    await store.save({ name: "note", value: "second", keepsVersion: true });
    await store.save({ name: "letter", value: "sealed words", visibility: "sealed" });
    await store.save({ name: "key", value: "secret words", visibility: "secret" });
    await store.save({ name: "gone", value: 1, ttlMs: 1 });
    const bytes = await store.receive(new Blob([photo]).stream(), "image/png");
    await store.save({ name: "photo", value: bytes, pinned: true });
  });
  return id;
}

describe("the variables of an object", () => {
  it("move into another object with their versions, labels and bytes", async () => {
    const [from, to] = [await filledObject(), newObject()];
    const before = await inObject(from, async ({ store }) => store.list());
    await importTo(to, await fileFrom(from));
    await inObject(to, async ({ store }, state) => {
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
    });
    expect(await keysOf(to)).toHaveLength(1);
    // Each object has its own copy of the bytes.
    await inObject(from, async (variables) => {
      variables.store.delete("photo");
      await variables.sweep();
    });
    expect(await keysOf(from)).toEqual([]);
    expect(await keysOf(to)).toHaveLength(1);
  });

  it("have the format of the runtime's conversations, in both directions", async () => {
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
    expect(await inObject(to, ({ store }) => store.read("a"))).toEqual([1, 2]);
  });

  it("are not replaced: an object with variables refuses a file", async () => {
    const from = await filledObject();
    const file = await fileFrom(from);
    await expect(importTo(from, file)).rejects.toMatchObject({ code: "conversation_exists" });
    const to = newObject();
    await inObject(to, async (variables) => {
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
    });
  });

  it("are copied again when they change while they are copied", async () => {
    const from = await filledObject();
    const taken: string[] = [];
    await inObject(from, async (variables) => {
      await variables.fork(async (file) => {
        const reader = file.getReader();
        const { value: first } = await reader.read();
        if (taken.length === 0) await variables.store.save({ name: "late", value: 1 });
        let text = new TextDecoder().decode(first);
        for (let read = await reader.read(); !read.done; read = await reader.read())
          text += new TextDecoder().decode(read.value);
        taken.push(text);
        const end = linesIn(text).at(-1);
        // An object that imports the file would throw too.
        if (end?.type === "error") throw new Error(String(end.message));
      });
    });
    expect(taken).toHaveLength(2);
    expect(linesIn(taken[1] ?? "").at(-1)?.type).toBe("end");
  });
});
