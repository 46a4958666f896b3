import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { ConversationObject } from "../../../src/edge/conversation.ts";
import { inside } from "../../support/inside.ts";
import {
  ask,
  call,
  get,
  json,
  messagesOf,
  newId,
  objectOf,
  problemIn,
  put,
} from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { blobsOf, inStorage, rowsIn, runAlarm, tablesOf } from "../../support/storage.ts";
import { allOf, exportOf, fork, imported, remove } from "../../support/transfer.ts";
import { anyBytes, putAs } from "../../support/values.ts";

describe("a fork", () => {
  it("has the same contents under another id", slow, async () => {
    const id = newId();
    await ask(id, "Weather in NYC?");
    await put(id, "big", ["x".repeat(9_000_000)]);
    const before = await allOf(id);
    const copy = await fork(id);
    expect(copy).not.toBe(id);
    expect(await allOf(copy)).toEqual({
      ...before,
      about: { ...(before.about as object), id: copy },
    });
    expect(await allOf(id)).toEqual(before);
    const named = newId();
    expect(await fork(copy, { id: named })).toBe(named);
  });

  it("is independent of its original, and has its own stored values", async () => {
    const id = newId();
    await ask(id, "Weather in NYC?");
    const body = anyBytes(300_000);
    await (await putAs(id, "bytes", { body, type: "image/png" })).text();
    const copy = await fork(id);
    await ask(copy, "And in Paris?");
    await put(copy, "only_here", 1);
    await ask(id, "Show my orders", { agent: "orders" });
    expect((await messagesOf(id)).messages.length).toBe(4);
    expect((await messagesOf(copy)).messages.length).toBe(4);
    expect((await get(id, "only_here")).status).toBe(404);
    await remove(id);
    expect(await blobsOf(id)).toEqual([]);
    const kept = await (await get(copy, "bytes")).arrayBuffer();
    expect(new Uint8Array(kept)).toEqual(body);
  });

  it("has no secrets, and is not created from a missing conversation", async () => {
    const id = newId();
    await put(id, "key?visibility=secret", "canary");
    const copy = await fork(id);
    expect((await get(copy, "key")).status).toBe(410);
    expect(JSON.stringify(await rowsIn(copy, "variable"))).not.toContain("canary");
    const target = newId();
    const nothing = await call("POST", `/conversations/${newId()}/fork`, json({ id: target }));
    await problemIn(nothing, "conversation_not_found");
    expect(await tablesOf(target)).toEqual([]);
  });

  it("refuses an id that is taken or invalid", async () => {
    const id = newId();
    const other = newId();
    await put(id, "a", 1);
    await put(other, "b", 2);
    const before = await allOf(other);
    const onto = (target: string) =>
      call("POST", `/conversations/${id}/fork`, json({ id: target }));
    await problemIn(await onto(other), "conversation_exists");
    await problemIn(await onto(id), "conversation_exists");
    await problemIn(await onto("a/b"), "bad_request");
    expect(await allOf(other)).toEqual(before);
    expect((await call("POST", `/conversations/${id}/fork`)).status).toBe(201);
  });
});

/** Calls the object directly, as the Worker does. */
function transfer(conversation: ConversationObject, what: string, init?: RequestInit) {
  return conversation.fetch(new Request(`http://conversation/transfer/${what}`, init));
}

describe("a transfer", () => {
  it("ends with an error if the conversation changes during its export", async () => {
    const id = newId();
    await put(id, "big", ["x".repeat(3_000_000)]);
    const response = await call("GET", `/conversations/${id}/export`);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? "";
    await put(id, "later", 1);
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      text += read.value;
    }
    expect(text.trimEnd().split("\n").at(-1)).toContain('{"type":"error","code":"conflict"');
    // The failed export has released everything that it opened.
    expect((await call("DELETE", `/conversations/${id}`)).status).toBe(204);
    expect(await blobsOf(id)).toEqual([]);
  });

  it("completes an import beside a concurrent write", async () => {
    const id = newId();
    await put(id, "a", 1);
    const file = await exportOf(id);
    await remove(id);
    const importing = imported(file);
    const writing = put(id, "b", 2);
    const [target] = await Promise.all([importing, writing]);
    // Both are complete, in either order.
    expect(await (await get(target, "a")).json()).toBe(1);
    expect(await (await get(id, "b")).json()).toBe(2);
  });

  it("leaves nothing of an import that the end of the process interrupts", async () => {
    const id = newId();
    await put(id, "a", 1);
    const file = await exportOf(id);
    await remove(id);
    const stub = objectOf(id);
    await runInDurableObject(stub, async (object: ConversationObject, { storage }) => {
      const conversation = inside(object);
      const half = new TransformStream<Uint8Array, Uint8Array>();
      const writer = half.writable.getWriter();
      const lines = file.split("\n").slice(0, 3);
      const importing = transfer(conversation, `import?id=${id}`, {
        method: "POST",
        body: half.readable,
      });
      await writer.write(new TextEncoder().encode(`${lines.join("\n")}\n`));
      // The variable is stored, but not visible yet.
      const stored = () => storage.sql.exec("SELECT name FROM variable").toArray();
      await vi.waitFor(() => expect(stored()).toEqual([{ name: "a" }]));
      expect(conversation.listVariables()).toEqual([]);
      expect(() => conversation.about()).toThrow("There is no such conversation.");
      expect(await storage.getAlarm()).not.toBeNull();
      // Writes wait.
      let isPut = false;
      const address = `http://conversation/conversations/${id}/variables/late`;
      const headers = { "content-type": "text/plain", "x-byref-end": "end" };
      const putting = conversation
        .fetch(new Request(address, { method: "PUT", body: "xend", headers }))
        .then((response) => {
          isPut = true;
          return response.status;
        });
      await scheduler.wait(20);
      expect(isPut).toBe(false);
      const mark = storage.sql.exec("SELECT value FROM meta WHERE key = 'deleting'").toArray();
      expect(mark.length).toBe(1);
      await writer.abort(new Error("gone"));
      expect((await importing).ok).toBe(false);
      expect(await putting).toBe(201);
      expect(conversation.listVariables().map(({ name }) => name)).toEqual(["late"]);
    });
    await remove(id);
    expect(await tablesOf(id)).toEqual([]);
    // The state that the next process finds.
    await inStorage(id, ({ sql }) => {
      sql.exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
      sql.exec("INSERT INTO meta VALUES ('schema', '3'), ('deleting', '1')");
      sql.exec("CREATE TABLE variable (name TEXT)");
    });
    await evictDurableObject(objectOf(id));
    await runAlarm(id);
    expect(await tablesOf(id)).toEqual([]);
  });
});
