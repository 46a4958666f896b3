import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { ConversationObject } from "../../../src/edge/conversation.ts";
import { DirectoryObject, type DirectoryPlace } from "../../../src/edge/directory/directory.ts";
import { type RuntimeOptions, createRuntime } from "../../../src/edge/create-runtime.ts";
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
import { withEnd } from "../../../src/edge/http/client-body.ts";
import { inside } from "../../support/inside.ts";
import { refuseRows, rowsReadBy } from "../../support/storage.ts";

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

describe("a fork or an import", () => {
  it("is listed, without additional entries", async () => {
    const tenant = newTenant();
    const [id, copy] = [newId(), newId()];
    await tenant.ask(id, "Weather in NYC?");
    await tenant.call("POST", `/conversations/${id}/fork`, json({ id: copy }));
    await listedIs(tenant, copy, { title: "Weather in NYC?", status: "idle" });
    const file = await tenant.call("GET", `/conversations/${id}/export`);
    const init = { body: await file.arrayBuffer() };
    const imported = await tenant.call("POST", "/conversations/import", init);
    const { id: third } = await imported.json<{ id: string }>();
    await listedIs(tenant, third, { title: "Weather in NYC?" });
    const { entries } = await directoryOf(tenant.name).list({ limit: 10 });
    expect(new Set(entries.map((entry) => entry.id))).toEqual(new Set([id, copy, third]));
  });
});

describe("a conversation that is deleted", () => {
  it("is not listed until it is created again", async () => {
    const tenant = newTenant();
    const [id, other] = [newId(), newId()];
    await tenant.ask(id, "The first");
    await tenant.put(other, "v");
    await eventually(async () => expect(await tenant.ids()).toHaveLength(2));
    await tenant.call("DELETE", `/conversations/${id}`);
    expect(await tenant.ids()).toEqual([other]);
    await eventually(async () => {
      const { entries } = await directoryOf(tenant.name).list({ limit: 10 });
      expect(entries.map((entry) => entry.id)).toEqual([other]);
    });
    await tenant.ask(id, "The second");
    await listedIs(tenant, id, { title: "The second" });
  });

  it("disappears when its page is listed, if the directory missed the deletion", async () => {
    const tenant = newTenant();
    const id = newId();
    const directory = directoryOf(tenant.name);
    await directory.put({ id, title: "gone", createdMs: 1_000, updatedMs: 2_000 });
    expect(await tenant.ids()).toEqual([]);
    expect(await directory.list({ limit: 10 })).toEqual({ entries: [] });
    // A conversation that updates its entry while the page is made stays in the list.
    const known = { id, title: null, createdMs: 1_000, updatedMs: 2_000 };
    await directory.put({ ...known, updatedMs: 3_000 });
    await directory.forget([known]);
    expect((await directory.list({ limit: 10 })).entries).toHaveLength(1);
  });
});

describe("a lost update of the directory", () => {
  it("is repaired by the next write", async () => {
    const tenant = newTenant();
    const id = newId();
    const directory = directoryOf(tenant.name);
    const repair = await runInDurableObject(directory, (_, { storage }) => {
      const makeRoom = refuseRows(storage, id);
      return () => makeRoom();
    });
    await tenant.put(id, "1");
    await tenant.ask(id, "Weather in NYC?");
    expect(await tenant.ids()).toEqual([]);
    await runInDurableObject(directory, () => repair());
    await tenant.put(id, "2");
    await listedIs(tenant, id, { title: "Weather in NYC?" });
  });
});

describe("a conversation without a directory", () => {
  it("works like any other, but is not listed", async () => {
    const tenant = newTenant();
    const id = newId();
    const { Conversation } = createRuntime({ agents: [agent], model: scriptedModel([]) });
    const { DIRECTORY: _, ...bindings } = env;
    await runInDurableObject(objectOf(id, tenant.name), async (__, state) => {
      // The types require the binding, but an application may leave it out.
      const conversation = inside(new Conversation(state, bindings as Cloudflare.Env));
      const { header, body } = withEnd(new Blob(["1"]).stream());
      const headers = [header, ["content-type", "application/json"]] as [string, string][];
      const init = { method: "PUT", headers, body };
      const request = new Request("http://conversation/conversations/c/variables/a", init);
      expect((await conversation.fetch(request)).status).toBe(201);
      conversation.setTitle("t");
      expect(conversation.about()).toMatchObject({ title: "t", status: "idle" });
      await conversation.deleteAll();
      expect(conversation.status()).toBeUndefined();
    });
    expect((await directoryOf(tenant.name).list({ limit: 10 })).entries).toEqual([]);
  });
});

const agent = { name: "a", description: "", instructions: "", tools: {} };

const DAY_MS = 86_400_000;

/** A tenant's directory with that many entries, one a minute; each tenth is a report of a city. */
async function filled(count: number) {
  const directory = directoryOf(newTenant().name);
  const put = (id: string, title: string | null, updatedMs: number) =>
    directory.put({ id, title, createdMs: 0, updatedMs });
  await put("c-0", "Monthly Report für KÖLN", DAY_MS);
  await runInDurableObject(directory, (_, { storage }) => {
    storage.sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
       INSERT INTO entry SELECT 'c-' || i, iif(i % 10 = 0, 'Report ' || i, NULL), 0, ? + i * 60000 FROM n`,
      count,
      DAY_MS,
    );
  });
  return directory;
}

it(
  "a search has pages, and reads only as many titles as it needs, and at most 10,000",
  slow,
  async () => {
    const directory = await filled(12_000);
    const found: string[] = [];
    let before: DirectoryPlace | undefined;
    do {
      const { entries, next } = await directory.list({ limit: 100, before, search: "report" });
      found.push(...entries.map(({ id }) => id));
      before = next;
    } while (before !== undefined);
    expect(found).toHaveLength(1_200);
    expect(new Set(found).size).toBe(1_200);
    let last: DirectoryPlace | undefined;
    const few = await rowsReadBy(directory, () => directory.list({ limit: 1, search: "report" }));
    const many = await rowsReadBy(directory, async () => {
      ({ next: last } = await directory.list({ limit: 1, search: "köln" }));
    });
    expect(few).toBeLessThan(1_100);
    expect(many).toBeLessThan(2.1 * limits.maxEntries);
    expect((await directory.list({ limit: 1, search: "köln", before: last })).entries).toHaveLength(
      1,
    );
  },
);
