import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { markDeleted } from "../../src/edge/deletion.ts";
import { DurableSql } from "../../src/edge/platform/durable-sql.ts";
import { R2Blobs } from "../../src/edge/platform/r2-blobs.ts";
import {
  ask,
  call,
  callWith,
  chunksIn,
  framesIn,
  get,
  json,
  messagesOf,
  namesIn,
  newId,
  objectOf,
  problemIn,
  put,
} from "../support/edge.ts";
import { eventPage } from "../support/event-reader.ts";
import { withRuntime, type OwnRuntime } from "../support/own-runtime.ts";
import {
  finish,
  type Script,
  scriptedModel,
  text,
  toolCall,
} from "../../packages/testing/src/testing.ts";
import { slow } from "../support/slow.ts";
import { alarmOf, blobsOf, inStorage, rowsIn, runAlarm, tablesOf } from "../support/storage.ts";
import { anyBytes, bytesOf, putAs } from "../support/values.ts";
import { tool } from "ai";
import * as z from "zod";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { env } from "cloudflare:workers";
import { directoryOf } from "../support/directory.ts";

describe("deletion", () => {
  afterEach(() => vi.restoreAllMocks());

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

  /** Fills every table and the bucket. */
  async function fill(id: string): Promise<void> {
    await ask(id, "Weather in NYC?", { input: { a: 1 } });
    await ask(id, "Show my orders", { agent: "orders" });
    const long = json({ message: "x".repeat(1_500_000) }, { accept: "text/plain" });
    await (await call("POST", `/conversations/${id}/messages`, long)).text();
    await put(id, "chunks?pin=true", "x".repeat(100_000));
    await put(id, "secret?visibility=secret", "hidden");
    await putBytes(id, "bytes", 100_000);
    await putBytes(id, "bytes", 9_000_000);
    await put(id, "expired?ttl=3600", 1);
    await inStorage(id, ({ sql }) => {
      sql.exec("UPDATE variable SET expires_at = 1 WHERE name = 'expired'");
    });
    await evictDurableObject(objectOf(id));
    await runAlarm(id);
    await (await call("PATCH", `/conversations/${id}`, json({ title: "A title" }))).text();
    for (const table of ["message", "chunk", "variable", "event", "meta", "tombstone"]) {
      expect([table, (await rowsIn(id, table)).length]).not.toEqual([table, 0]);
    }
    expect((await blobsOf(id)).length).toBeGreaterThan(0);
  }

  async function expectNothing(id: string): Promise<void> {
    expect(await tablesOf(id)).toEqual([]);
    expect(await alarmOf(id)).toBeNull();
    expect(await blobsOf(id)).toEqual([]);
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
    expect(await messagesOf(id)).toEqual({ messages: [] });
    expect(await namesIn(id)).toEqual([]);
    expect(await eventPage(id)).toEqual({ events: [] });
  }

  describe("DELETE of a conversation", () => {
    it("leaves nothing behind, whatever there was", slow, async () => {
      const id = newId();
      await fill(id);
      expect(await remove(id)).toBe(204);
      await expectNothing(id);
      for (const name of ["expired", "bytes", "secret"]) {
        await problemIn(await get(id, name), "variable_not_found");
      }
      expect(await remove(id)).toBe(404);
      await evictDurableObject(objectOf(id));
      await expectNothing(id);
    });

    it("does not touch another conversation, or another tenant's of the same name", async () => {
      const keys = { alice: "alice-key-0123456789", bob: "bob-key-0123456789" };
      const API_KEYS = JSON.stringify({ [keys.alice]: "alice", [keys.bob]: "bob" });
      const callAs =
        (key: string) =>
        (method: string, path: string, init: RequestInit = {}) => {
          const headers = new Headers(init.headers);
          headers.set("authorization", `Bearer ${key}`);
          return callWith({ AUTH: "bearer", API_KEYS })(method, path, { ...init, headers });
        };
      const [alice, bob] = [callAs(keys.alice), callAs(keys.bob)];
      const id = newId();
      const body = anyBytes(100_000);
      const init = { body, headers: { "content-type": "image/png" } };
      for (const path of [id, `${id}0`]) {
        await (await alice("PUT", `/conversations/${path}/variables/a`, init)).text();
      }
      await problemIn(await bob("GET", `/conversations/${id}`), "conversation_not_found");
      await problemIn(
        await bob("PATCH", `/conversations/${id}`, json({ title: "t" })),
        "conversation_not_found",
      );
      await problemIn(await bob("DELETE", `/conversations/${id}`), "conversation_not_found");
      expect(await (await bob("GET", `/conversations/${id}/events`)).json()).toEqual({
        events: [],
      });
      await (await bob("PUT", `/conversations/${id}/variables/a`, init)).text();
      expect((await bob("DELETE", `/conversations/${id}`)).status).toBe(204);
      for (const path of [id, `${id}0`]) {
        const kept = await alice("GET", `/conversations/${path}/variables/a`);
        expect(await bytesOf(kept)).toEqual([...body]);
      }
    });
  });

  describe("DELETE while turns run and wait", () => {
    it("stops them all, and none of them creates the conversation again", async () => {
      const begun = Promise.withResolvers<void>();
      let isStopped = false;
      const step = ({ abortSignal }: { readonly abortSignal?: AbortSignal }) => {
        abortSignal?.addEventListener("abort", () => {
          isStopped = true;
        });
        begun.resolve();
        return new Promise<Script>(() => undefined);
      };
      const model = scriptedModel([step, [text("Anew."), finish()], [text("Later."), finish()]]);
      const agent = { name: "a", description: "", instructions: "", tools: {} };
      await withRuntime({ agents: [agent], model }, async (own) => {
        const say = (message: string) =>
          own.call("POST", "/conversations/c/messages", json({ message }));
        const turns = [await say("One"), await say("Two"), await say("Three")];
        await begun.promise;
        expect((await own.call("DELETE", "/conversations/c")).status).toBe(204);
        for (const turn of turns) {
          const types = chunksIn(await framesIn(turn)).map(({ type }) => type);
          expect(types.at(-1)).toBe("abort");
          expect(types).not.toContain("text-delta");
        }
        expect(isStopped).toBe(true);
        expect(model.calls).toHaveLength(1);
        expect(await own.state.storage.getAlarm()).toBeNull();
        const tables = own.state.storage.sql.exec(
          "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
        );
        expect(tables.toArray()).toEqual([]);
        // The next message starts a new conversation.
        expect(await (await say("Four")).text()).toContain("Anew.");
        const { messages } = await (
          await own.call("GET", "/conversations/c/messages")
        ).json<{ messages: unknown[] }>();
        expect(messages).toHaveLength(2);
        expect(JSON.stringify(model.calls[1]?.prompt)).not.toMatch(/One|Two|Three/);
      });
    });
  });

  describe("an incomplete deletion", () => {
    it("is completed by the alarm or the next request after the process has ended", async () => {
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

    it("is tried again when the bucket could not be emptied", async () => {
      const id = newId();
      await put(id, "a", 1);
      await putBytes(id, "bytes", 100_000);
      vi.spyOn(console, "error").mockImplementation(() => undefined);
      const down = vi
        .spyOn(R2Blobs.prototype, "delete")
        .mockRejectedValue(new Error("R2 is down."));
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
  });
});

describe("deletion races", () => {
  afterEach(() => vi.restoreAllMocks());

  /** A tool that ignores its signal, and returns when `finish` is called. */
  function stubborn() {
    const begun = Promise.withResolvers<void>();
    const held = Promise.withResolvers<unknown>();
    const load = tool({
      inputSchema: z.object({}),
      execute: () => {
        begun.resolve();
        return held.promise;
      },
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

  async function expectEmpty({ state }: OwnRuntime, tenant: string, id: string): Promise<void> {
    const tables = state.storage.sql.exec(
      "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
    );
    expect(tables.toArray()).toEqual([]);
    expect(await state.storage.getAlarm()).toBeNull();
    expect((await env.BLOBS.list({ prefix: `${objectOf(id, tenant).id}/` })).objects).toEqual([]);
    expect((await directoryOf(tenant).list({ limit: 10 })).entries).toEqual([]);
  }

  describe("a deletion during a turn", () => {
    it.each<{ what: string; late: () => unknown; ofTenant?: boolean }>([
      { what: "a text", late: () => "late" },
      { what: "a text, and it is its tenant's deletion,", late: () => "late", ofTenant: true },
      {
        what: "records",
        late: () => Array.from({ length: 50_000 }, (_, n) => ({ n, name: "late" })),
      },
      { what: "text for the bucket", late: () => "x".repeat(9_000_000) },
    ])("whose tool returns $what afterwards leaves nothing", slow, async ({ late, ofTenant }) => {
      const { options, begun, finish } = stubborn();
      const [tenant, id] = [`tenant ${newId()}`, newId()];
      const work = async (own: OwnRuntime) => {
        const turn = await own.call(
          "POST",
          "/conversations/c/messages",
          json({ message: "Load." }),
        );
        await begun;
        if (ofTenant === true) await own.conversation().deleteBefore(Date.now());
        else expect((await own.call("DELETE", "/conversations/c")).status).toBe(204);
        expect(chunksIn(await framesIn(turn)).at(-1)?.type).toBe("abort");
        finish(late());
        // A turn of a new conversation comes after whatever the old one still does.
        for (let task = 0; task < 20; task++) await scheduler.wait(1);
        await expectEmpty(own, tenant, id);
        const anew = await own.call("POST", "/conversations/c/messages", json({ message: "Hi." }));
        expect(await anew.text()).not.toContain("late");
        const { variables } = await (
          await own.call("GET", "/conversations/c/variables")
        ).json<{ variables: unknown[] }>();
        expect(variables).toEqual([]);
      };
      await withRuntime(options, work, { name: JSON.stringify([tenant, id]) });
    });

    it("and a new conversation under its id has nothing of the old turn", slow, async () => {
      const { options, begun, finish } = stubborn();
      const [tenant, id] = [`tenant ${newId()}`, newId()];
      const work = async (own: OwnRuntime) => {
        const turn = await own.call(
          "POST",
          "/conversations/c/messages",
          json({ message: "Load." }),
        );
        await begun;
        await own.call("DELETE", "/conversations/c");
        await framesIn(turn);
        await own.call("PUT", "/conversations/c/variables/mine", json(1));
        finish("x".repeat(9_000_000));
        for (let task = 0; task < 20; task++) await scheduler.wait(1);
        const listed = await own.call("GET", "/conversations/c/variables");
        const { variables } = await listed.json<{ variables: { name: string }[] }>();
        expect(variables.map(({ name }) => name)).toEqual(["mine"]);
        const events = await (await own.call("GET", "/conversations/c/events")).text();
        expect(events).not.toContain("load");
        const { messages } = await (
          await own.call("GET", "/conversations/c/messages")
        ).json<{ messages: unknown[] }>();
        expect(messages).toEqual([]);
        expect((await env.BLOBS.list({ prefix: `${objectOf(id, tenant).id}/` })).objects).toEqual(
          [],
        );
        expect((await own.call("DELETE", "/conversations/c")).status).toBe(204);
        await expectEmpty(own, tenant, id);
      };
      await withRuntime(options, work, { name: JSON.stringify([tenant, id]) });
    });
  });

  describe("a deletion during an import", () => {
    it("finds no conversation yet, and after it one that it deletes", slow, async () => {
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
        await expectEmpty(own, tenant, id);
      };
      await withRuntime(options, work, { name: JSON.stringify([tenant, id]) });
    });
  });
});
