import type { Tool, ToolSet } from "ai";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ConversationObject } from "../../../src/edge/conversation.ts";
import { weather } from "../../../examples/agents/weather.ts";
import { directoryOf, eventually, newTenant, type Tenant } from "../../support/directory.ts";
import { json, objectOf, problemIn } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { anyBytes } from "../../support/values.ts";

afterEach(() => vi.restoreAllMocks());

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

/** Expects that nothing of the conversation is left: no row, alarm or object in the bucket. */
async function expectGone(tenant: Tenant, id: string): Promise<void> {
  const object = objectOf(id, tenant.name);
  await runInDurableObject(object, async (_, { storage }) => {
    const tables = storage.sql.exec(
      "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
    );
    expect(tables.toArray()).toEqual([]);
    expect(await storage.getAlarm()).toBeNull();
  });
  expect((await env.BLOBS.list({ prefix: `${object.id}/` })).objects).toEqual([]);
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
      await expectGone(tenant, id);
      await problemIn(await tenant.call("GET", `/conversations/${id}`), "conversation_not_found");
    }
    expect((await other.call("GET", "/conversations/asked")).status).toBe(200);
    await eventually(async () => expect(await other.ids()).toEqual(["asked"]));
  });

  it("ends a turn that runs, and stores nothing that its tool returns later", async () => {
    const tenant = newTenant();
    const begun = Promise.withResolvers<void>();
    const held = Promise.withResolvers<unknown>();
    const { get_weather } = weather.tools as ToolSet;
    vi.spyOn(get_weather as Required<Tool>, "execute").mockImplementation(() => {
      begun.resolve();
      return held.promise;
    });
    const answered = tenant.ask("asked", "Weather in NYC?");
    await begun.promise;
    await eventually(async () => expect(await tenant.ids()).toEqual(["asked"]));
    await removeAll(tenant);
    await isDone(tenant);
    await answered;
    held.resolve({ temperature: 21 });
    for (let task = 0; task < 20; task++) await scheduler.wait(1);
    await expectGone(tenant, "asked");
    expect(await tenant.ids()).toEqual([]);
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
    await expectGone(tenant, "old");
    expect((await tenant.ids()).toSorted()).toEqual(["again", "new"]);
    const value = await tenant.call("GET", "/conversations/again/variables/a");
    expect(await value.text()).toBe("new");
    // A second one does.
    await removeAll(tenant);
    await isDone(tenant);
    for (const id of ["new", "again"]) await expectGone(tenant, id);
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
    await eventually(() => expectGone(tenant, "lost"));
    await eventually(async () => expect(await tenant.ids()).toEqual([id]));
    await evictDurableObject(objectOf(id, tenant.name));
    await tenant.call("PUT", `/conversations/${id}/variables/b`, json(1));
    expect((await tenant.call("GET", `/conversations/${id}`)).status).toBe(200);
  });

  it(
    "goes on after a kill in every piece, and skips what fails until the rest is gone",
    slow,
    async () => {
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
      for (const id of ids) await expectGone(tenant, id);
      expect(
        await runInDurableObject(directory(), (_, { storage }) => storage.getAlarm()),
      ).toBeNull();
    },
  );
});
