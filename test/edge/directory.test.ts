import { evictDurableObject, runInDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { ConversationObject } from "../../src/edge/conversation.ts";
import { DirectoryObject, type DirectoryPlace } from "../../src/edge/directory/directory.ts";
import { type RuntimeOptions } from "../../src/edge/create-runtime.ts";
import * as limits from "../../src/limits.ts";
import {
  directoryOf,
  eventually,
  type Listed,
  listedIs,
  listOf,
  newTenant,
  type Tenant,
} from "../support/directory.ts";
import { json, newId, objectOf, problemIn } from "../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../support/own-runtime.ts";
import { finish, type Script, scriptedModel, text, toolCall } from "byref/testing";
import { slow } from "../support/slow.ts";
import { expectGone, refuseRows, rowsReadBy } from "../support/storage.ts";
import { anyBytes } from "../support/values.ts";

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
      const { id, title, status, createdAt } = await about.json<Listed>();
      const updatedAt: unknown = expect.any(String);
      expect(listed).toEqual({ id, title, status, createdAt, updatedAt });
      expect(listed.updatedAt >= createdAt).toBe(true);
    }
    await listedIs(tenant, asked, { title: "Weather in NYC?", status: "idle" });
    await listedIs(tenant, written, { title: null, status: "idle" });
    for (const title of ["Mine", ""]) {
      await (await tenant.call("PATCH", `/conversations/${asked}`, json({ title }))).text();
      await listedIs(tenant, asked, { title });
    }
    await evictDurableObject(objectOf(asked, tenant.name));
    await tenant.ask(asked, "And in Rome?");
    await listedIs(tenant, asked, { title: "" });
  });

  it("is sorted by last activity, which is updated once a minute", async () => {
    const tenant = newTenant();
    const [first, second] = [newId(), newId()];
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
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
  });

  it("has pages, with each conversation on one of them", async () => {
    const tenant = newTenant();
    const ids = ["a", "b", "c", "d", "e"];
    for (const id of ids) await tenant.put(id, id);
    await eventually(async () => expect(await tenant.ids()).toHaveLength(5));
    for (const [limit, sizes] of [
      ["", [5]],
      ["&limit=5", [5]],
      ["&limit=2", [2, 2, 1]],
    ] as const) {
      const pages: Listed[][] = [];
      for (let query: string | undefined = ""; query !== undefined;) {
        const { conversations, next } = await tenant.list(`?${query}${limit}`);
        pages.push([...conversations]);
        query = next === undefined ? undefined : `before=${encodeURIComponent(next)}`;
      }
      expect(pages.map(({ length }) => length)).toEqual(sizes);
      const listed = pages.flat();
      expect(listed.map(({ id }) => id).toSorted()).toEqual(ids);
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
    vi.spyOn(ConversationObject.prototype, "status").mockImplementationOnce(() => {
      throw new Error("broken");
    });
    const { conversations } = await tenant.list();
    expect(conversations.map(({ id }) => id).toSorted()).toEqual([broken, whole].toSorted());
    expect(conversations.map((one) => one.status)).toEqual(["idle", "idle"]);
  });
});

it("a conversation that is deleted is not listed until it is created again", async () => {
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

it("a conversation that is deleted disappears when its page is listed, if the directory missed the deletion", async () => {
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

it("a lost update of the directory is repaired by the next write", async () => {
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

it("a search has pages, and reads the titles that it needs, at most 10,000", slow, async () => {
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
});

it.each([
  ["die ärzte", "Die ÄRZTE live"],
  ["STRASSE", "Straße (UltraStar-Deluxe/USDX#334)"],
  ["οδοσ", "Η ΟΔΟΣ (Alexey-T/CudaText#6028)"],
  ["inş", "İnşaat (4gray/iptvnator#609)"],
  ["İnş", "inşaat"],
])("a search for %s finds %s", async (search, title) => {
  const directory = directoryOf(newTenant().name);
  await directory.put({ id: "c", title, createdMs: 0, updatedMs: 1 });
  expect((await directory.list({ limit: 1, search })).entries).toHaveLength(1);
});

interface Deletion {
  readonly startedAt: string;
  readonly deleted: number;
  readonly remaining: number;
}

async function removeAll({ call }: Tenant): Promise<Deletion> {
  const response = await call("DELETE", "/conversations?all=true");
  expect(response.status).toBe(202);
  return (await response.json<{ readonly deletion: Deletion }>()).deletion;
}

async function deletionOf({ call }: Tenant): Promise<Deletion | undefined> {
  const response = await call("GET", "/conversations");
  return (await response.json<{ readonly deletion?: Deletion }>()).deletion;
}

const isDone = (tenant: Tenant) =>
  eventually(async () => expect(await deletionOf(tenant)).toBeUndefined());

describe("DELETE of all conversations of a tenant", () => {
  it("leaves nothing of them behind, and nothing else is deleted", async () => {
    const [tenant, other] = [newTenant(), newTenant()];
    await tenant.ask("asked", "Weather in NYC?");
    const image = { body: anyBytes(100_000), headers: { "content-type": "image/png" } };
    await (await tenant.call("PUT", "/conversations/image/variables/a", image)).text();
    await other.put("asked", "v");
    await eventually(async () => expect(await tenant.ids()).toHaveLength(2));
    expect(await removeAll(tenant)).toEqual({
      startedAt: expect.any(String),
      deleted: 0,
      remaining: 2,
    });
    // Without the parameter, nothing is deleted.
    await problemIn(await other.call("DELETE", "/conversations"), "bad_request");
    // The list is empty at once, and shows how far the deletion is.
    expect(await tenant.ids()).toEqual([]);
    await isDone(tenant);
    for (const id of ["asked", "image"]) {
      await expectGone(objectOf(id, tenant.name));
      await problemIn(await tenant.call("GET", `/conversations/${id}`), "conversation_not_found");
    }
    expect((await other.call("GET", "/conversations/asked")).status).toBe(200);
    await eventually(async () => expect(await other.ids()).toEqual(["asked"]));
  });

  it("does not reach a conversation that begins later, also under the same id", async () => {
    const tenant = newTenant();
    const held = Promise.withResolvers<void>();
    const { deleteBefore } = ConversationObject.prototype;
    vi.spyOn(ConversationObject.prototype, "deleteBefore").mockImplementation(async function (
      this: ConversationObject,
      timeMs,
    ) {
      await held.promise;
      return deleteBefore.call(this, timeMs);
    });
    for (const id of ["old", "again"]) await tenant.put(id, "old");
    await eventually(async () => expect(await tenant.ids()).toHaveLength(2));
    const { startedAt } = await removeAll(tenant);
    await vi.waitUntil(() => Date.now() > Date.parse(startedAt));
    expect((await tenant.call("DELETE", "/conversations/again")).status).toBe(204);
    for (const id of ["new", "again"]) await tenant.put(id, "new");
    await eventually(async () => expect((await tenant.ids()).toSorted()).toEqual(["again", "new"]));
    held.resolve();
    await isDone(tenant);
    await expectGone(objectOf("old", tenant.name));
    expect((await tenant.ids()).toSorted()).toEqual(["again", "new"]);
    const value = await tenant.call("GET", "/conversations/again/variables/a");
    expect(await value.text()).toBe("new");
    // A second one does.
    await removeAll(tenant);
    await isDone(tenant);
    for (const id of ["new", "again"]) await expectGone(objectOf(id, tenant.name));
  });

  it("deletes a conversation whose entry arrives later, and an import of one that began later not", async () => {
    const tenant = newTenant();
    await tenant.put("lost", "v");
    const file = await (await tenant.call("GET", "/conversations/lost/export")).text();
    await eventually(async () => expect(await tenant.ids()).toEqual(["lost"]));
    // As if the entry had never arrived.
    await directoryOf(tenant.name).remove("lost");
    const { startedAt, remaining } = await removeAll(tenant);
    expect(remaining).toBe(0);
    await vi.waitUntil(() => Date.now() > Date.parse(startedAt));
    const init = { body: file, headers: { "content-type": "application/x-ndjson" } };
    const imported = await tenant.call("POST", "/conversations/import", init);
    const { id } = await imported.json<{ readonly id: string }>();
    await evictDurableObject(objectOf("lost", tenant.name));
    await tenant.call("PUT", "/conversations/lost/variables/b", json(1));
    await eventually(() => expectGone(objectOf("lost", tenant.name)));
    await eventually(async () => expect(await tenant.ids()).toEqual([id]));
    await evictDurableObject(objectOf(id, tenant.name));
    await tenant.call("PUT", `/conversations/${id}/variables/b`, json(1));
    expect((await tenant.call("GET", `/conversations/${id}`)).status).toBe(200);
  });

  it("goes on after each kill, and skips what fails until the rest is gone", slow, async () => {
    const tenant = newTenant();
    const ids = Array.from({ length: 120 }, (_, index) => `c-${1_000 + index}`);
    for (let from = 0; from < ids.length; from += 20) {
      await Promise.all(ids.slice(from, from + 20).map((id) => tenant.put(id, id)));
    }
    // A stub of an object that was killed stays broken.
    const directory = () => directoryOf(tenant.name);
    await eventually(async () => {
      expect((await directory().list({ limit: 1_000 })).entries).toHaveLength(120);
    });
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { deleteBefore } = ConversationObject.prototype;
    let [isBroken, kills] = [true, 0];
    const killing = new Set<string>();
    const asked = new Map<string, number>();
    vi.spyOn(ConversationObject.prototype, "deleteBefore").mockImplementation(async function (
      this: ConversationObject,
      timeMs,
    ) {
      const name = this.parts.context.state.id.name ?? "";
      asked.set(name, 1 + (asked.get(name) ?? 0));
      if (isBroken && name.includes("c-1000")) throw new Error("R2 is down.");
      await deleteBefore.call(this, timeMs);
      // After the conversation is gone, and before the piece is recorded.
      if (!/c-1(?:040|090|110)/u.test(name) || killing.has(name)) return;
      killing.add(name);
      kills++;
      await runInDurableObject(directory(), (_, state) => state.abort("killed")).catch(
        () => undefined,
      );
    });
    const seen: number[] = [];
    await removeAll(tenant);
    await eventually(async () => {
      const { remaining = 0, deleted = 0 } = (await deletionOf(tenant)) ?? {};
      seen.push(remaining);
      expect([deleted, remaining]).toEqual([119, 1]);
    });
    expect(kills).toBe(3);
    // The platform has repeated each of the pieces.
    for (const name of killing) expect(asked.get(name)).toBeGreaterThan(1);
    expect(seen).toEqual(seen.toSorted((a, b) => b - a));
    isBroken = false;
    await eventually(async () => {
      await runDurableObjectAlarm(directory());
      expect(await deletionOf(tenant)).toBeUndefined();
    });
    for (const id of ids) await expectGone(objectOf(id, tenant.name));
    expect(
      await runInDurableObject(directory(), (_, { storage }) => storage.getAlarm()),
    ).toBeNull();
  });
});

it("a spending limit of tenants needs a directory before a turn starts, and not before", async () => {
  const model = scriptedModel([]);
  const agent = { name: "a", description: "", instructions: "", tools: {} };
  const options = { agents: [agent] as const, model, spend: { tenant: { modelCalls: 5 } } };
  const work = async ({ call }: OwnRuntime) => {
    const refused = await call("POST", "/conversations/c/messages", json({ message: "Go." }));
    expect((await problemIn(refused, "bad_configuration")).detail).toContain("DIRECTORY");
    expect((await call("PUT", "/conversations/c/variables/a", json(1))).status).toBe(201);
  };
  await withRuntime(options, work, { bindings: { DIRECTORY: undefined } });
  expect(model.calls).toHaveLength(0);
});
