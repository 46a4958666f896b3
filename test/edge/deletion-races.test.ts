import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "../../packages/testing/src/testing.ts";
import { env } from "cloudflare:workers";
import { directoryOf } from "../support/directory.ts";
import { chunksIn, framesIn, json, newId, objectOf, problemIn } from "../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../support/own-runtime.ts";
import { slow } from "../support/slow.ts";
import { anyBytes } from "../support/values.ts";

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
      const turn = await own.call("POST", "/conversations/c/messages", json({ message: "Load." }));
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
      const turn = await own.call("POST", "/conversations/c/messages", json({ message: "Load." }));
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
      expect((await env.BLOBS.list({ prefix: `${objectOf(id, tenant).id}/` })).objects).toEqual([]);
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
