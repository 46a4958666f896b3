import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { ConversationObject } from "../../../src/edge/conversation.ts";
import { DirectoryObject } from "../../../src/edge/directory/directory.ts";
import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import worker from "../../../src/index.ts";
import * as limits from "../../../src/limits.ts";
import {
  directoryOf,
  eventually,
  type Listed,
  listedIs,
  listOf,
  newTenant,
} from "../../support/directory.ts";
import { json, newId, objectOf, problemIn } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  type Script,
  scriptedModel,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";

describe("the list of conversations", () => {
  it("is empty without conversations, and reading it creates no tables", async () => {
    const tenant = newTenant();
    expect(await tenant.list()).toEqual({ conversations: [] });
    const tables = await runInDurableObject(directoryOf(tenant.name), (_, { storage }) =>
      storage.sql
        .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'")
        .toArray(),
    );
    expect(tables).toEqual([]);
  });

  it("shows a conversation as the conversation shows itself", async () => {
    const tenant = newTenant();
    const [asked, written] = [newId(), newId()];
    await tenant.put(written, "v");
    await tenant.ask(asked, "Weather\n in NYC?");
    await eventually(async () => expect(await tenant.ids()).toHaveLength(2));
    const { conversations, next } = await tenant.list();
    expect(next).toBeUndefined();
    for (const listed of conversations) {
      const about = await tenant.call("GET", `/conversations/${listed.id}`);
      const { title, status, createdAt } = await about.json<Listed>();
      expect(listed).toEqual({
        id: listed.id,
        title,
        status,
        createdAt,
        updatedAt: expect.any(String),
      });
      expect(listed.updatedAt >= createdAt).toBe(true);
    }
    await listedIs(tenant, asked, { title: "Weather in NYC?", status: "idle" });
    await listedIs(tenant, written, { title: null, status: "idle" });
  });

  it("is sorted by last activity, which is updated once a minute", async () => {
    const tenant = newTenant();
    const [first, second] = [newId(), newId()];
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    try {
      for (const id of [first, second]) {
        await tenant.put(id, "1");
        await eventually(async () => expect(await tenant.ids()).toContain(id));
        vi.setSystemTime(Date.now() + 1_000);
      }
      expect(await tenant.ids()).toEqual([second, first]);
      const puts = vi.spyOn(DirectoryObject.prototype, "put");
      for (let n = 0; n < 10; n++) await tenant.put(first, `${n}`);
      expect(puts).not.toHaveBeenCalled();
      vi.setSystemTime(Date.now() + 60_000);
      const now = new Date().toISOString();
      for (let n = 0; n < 10; n++) await tenant.put(first, `again ${n}`);
      await eventually(async () => expect(await tenant.ids()).toEqual([first, second]));
      await listedIs(tenant, first, { updatedAt: now });
      expect(puts).toHaveBeenCalledTimes(1);
      puts.mockRestore();
    } finally {
      vi.useRealTimers();
    }
  });

  it("has pages, with each conversation on one of them", slow, async () => {
    const tenant = newTenant();
    const ids = Array.from({ length: 250 }, (_, index) => `c-${index}`);
    for (let from = 0; from < ids.length; from += 25) {
      await Promise.all(ids.slice(from, from + 25).map((id) => tenant.put(id, id)));
    }
    await eventually(async () => {
      const page = await directoryOf(tenant.name).list({ limit: 1_000 });
      expect(page.entries).toHaveLength(250);
    });
    for (const [limit, sizes] of [
      ["", [200, 50]],
      ["&limit=125", [125, 125]],
      ["&limit=99", [99, 99, 52]],
    ] as const) {
      const pages: Listed[][] = [];
      for (let query: string | undefined = ""; query !== undefined;) {
        const { conversations, next } = await tenant.list(`?${query}${limit}`);
        pages.push([...conversations]);
        query = next === undefined ? undefined : `before=${encodeURIComponent(next)}`;
      }
      expect(pages.map(({ length }) => length)).toEqual(sizes);
      const listed = pages.flat();
      expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
      const times = listed.map(({ updatedAt }) => updatedAt);
      expect(times).toEqual(times.toSorted().reverse());
    }
    // A conversation that moves up meanwhile is on no page twice, and pages keep their places.
    const { conversations, next = "" } = await tenant.list("?limit=2");
    const moved = conversations[1];
    const directory = directoryOf(tenant.name);
    const title = "moved";
    await directory.put({ id: moved?.id ?? "", title, createdMs: 1, updatedMs: Date.now() + 9 });
    const rest = await tenant.list(`?before=${next}`);
    expect(rest.conversations.map(({ id }) => id)).not.toContain(moved?.id);
    expect((await tenant.list("?limit=1")).conversations[0]).toMatchObject({
      id: moved?.id,
      title,
    });
  });

  it.each(["?limit=0", "?limit=201", "?limit=x", "?before=x", "?before=1.a%2Fb", "?before="])(
    "refuses %s",
    async (query) => {
      await problemIn(await newTenant().call("GET", `/conversations${query}`), "bad_request");
    },
  );

  it("is separate for each tenant", async () => {
    const [alice, bob] = [newTenant(), newTenant()];
    const [id, other] = [newId(), newId()];
    await alice.ask(id, "Alice asks");
    await alice.put(other, "a");
    await bob.ask(id, "Bob asks");
    await listedIs(alice, id, { title: "Alice asks" });
    await eventually(async () => expect(await alice.ids()).toHaveLength(2));
    expect((await bob.list()).conversations).toMatchObject([{ id, title: "Bob asks" }]);
    await bob.call("DELETE", `/conversations/${id}`);
    expect(await bob.ids()).toEqual([]);
    expect(await alice.ids()).toContain(id);
  });

  it("needs a directory, and says how to bind it", async () => {
    const request = new Request("http://localhost/conversations");
    const { DIRECTORY: _, ...bindings } = env;
    const response = await worker.fetch(request, { ...bindings, AUTH: "none" });
    const { detail } = await problemIn(response, "not_configured");
    expect(detail).toContain('name = "DIRECTORY"\nclass_name = "Directory"');
    expect(detail).toContain('new_sqlite_classes = ["Directory"]');
  });
});

describe("a conversation's title in the list", () => {
  it("is the first message's text until it is set", async () => {
    const tenant = newTenant();
    const id = newId();
    await tenant.put(id, "v");
    await listedIs(tenant, id, { title: null });
    const question = `Show my orders ${"and more ".repeat(100)}`;
    await tenant.ask(id, question);
    await listedIs(tenant, id, { title: question.slice(0, limits.maxLineChars).trim() });
    await tenant.ask(id, "And in Paris?");
    await listedIs(tenant, id, { title: expect.stringMatching(/^Show my orders/) });
    for (const title of ["Mine", ""]) {
      await (await tenant.call("PATCH", `/conversations/${id}`, json({ title }))).text();
      await listedIs(tenant, id, { title });
    }
    await evictDurableObject(objectOf(id, tenant.name));
    await tenant.ask(id, "And in Rome?");
    await listedIs(tenant, id, { title: "" });
  });

  it("follows the first message when that is edited", async () => {
    const tenant = newTenant();
    const id = newId();
    const post = async (text: string, more: object = {}) => {
      const messages = [{ id: "m", role: "user", parts: [{ type: "text", text }] }];
      const init = json({ id, messages, trigger: "submit-message", ...more });
      await (await tenant.call("POST", "/conversations", init)).text();
    };
    await post("Weather in NYC?");
    await listedIs(tenant, id, { title: "Weather in NYC?" });
    await post("Weather in Rome?", { messageId: "m" });
    await listedIs(tenant, id, { title: "Weather in Rome?" });
  });
});

describe("a conversation's status in the list", () => {
  const tools = {
    pay: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "paid" }),
  };
  const agent = { name: "a", description: "", instructions: "", tools };

  it("is the conversation's current status", async () => {
    const tenant = `tenant ${newId()}`;
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const steps = [
      async (): Promise<Script> => {
        begun.resolve();
        await gate.promise;
        return [toolCall("pay", {}), finish("tool-calls")];
      },
      [text("Paid."), finish()],
    ];
    const options: RuntimeOptions = {
      agents: [agent],
      model: scriptedModel(steps),
      authenticator: () => tenant,
    };
    await withRuntime(options, async (own) => {
      // In this runtime the object's id has no name, so it cannot report to the directory.
      const times = { createdMs: 1_000, updatedMs: 2_000 };
      await directoryOf(tenant).put({ id: "c", title: "t", ...times });
      const status = async () => (await listOf(own.call)).conversations[0]?.status;
      const turn = await own.call("POST", "/conversations/c/messages", json({ message: "Pay." }));
      await begun.promise;
      expect(await status()).toBe("running");
      gate.resolve();
      const approvalId = /"approvalId":"([^"]+)"/.exec(await turn.text())?.[1];
      expect(await status()).toBe("waiting");
      const path = `/conversations/c/approvals/${approvalId}`;
      await (await own.call("POST", path, json({ approved: true }))).text();
      expect(await status()).toBe("idle");
    });
  });

  it("hides no conversation when one fails to answer", async () => {
    const tenant = newTenant();
    const [broken, whole] = [newId(), newId()];
    for (const id of [broken, whole]) await tenant.put(id, "v");
    await eventually(async () => expect(await tenant.ids()).toHaveLength(2));
    const status = vi.spyOn(ConversationObject.prototype, "status").mockImplementationOnce(() => {
      throw new Error("broken");
    });
    const { conversations } = await tenant.list();
    expect(conversations.map(({ id }) => id).toSorted()).toEqual([broken, whole].toSorted());
    expect(conversations.map((one) => one.status)).toEqual(["idle", "idle"]);
    status.mockRestore();
  });
});
