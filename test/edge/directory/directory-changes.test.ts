import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../../../src/edge/create-runtime.ts";
import { withEnd } from "../../../src/edge/http/client-body.ts";
import { directoryOf, eventually, listedIs, newTenant } from "../../support/directory.ts";
import { json, newId, objectOf } from "../../support/edge.ts";
import { inside } from "../../support/inside.ts";
import { scriptedModel } from "../../../packages/testing/src/testing.ts";
import { refuseRows } from "../../support/storage.ts";

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
