import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ask, call, get, json, messagesOf, newId, objectOf, put } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { blobsOf, inStorage, rowsIn, runAlarm } from "../../support/storage.ts";
import { allOf, exportOf, imported, remove } from "../../support/transfer.ts";
import { anyBytes, NDJSON, putAs, TEXT } from "../../support/values.ts";

const MIB = 1_048_576;

async function post(path: string, body: object): Promise<string> {
  const response = await call("POST", path, json(body));
  expect(response.ok).toBe(true);
  return response.text();
}

async function fillVariables(id: string): Promise<void> {
  await put(id, "list", [1, "é", null]);
  await put(id, "list", { changed: true });
  await put(id, "half", "\ud800");
  await put(id, "sealed?visibility=sealed&ttl=3600&pin=true&description=Sealed", "for tools");
  await put(id, "chunks", { text: "x".repeat(2 * MIB) });
  await put(id, "big", ["x".repeat(9 * MIB)]);
  const sent = [
    ["records", new TextEncoder().encode('{"a":1}\n\n{"a":2}\n'), NDJSON],
    ["text", new TextEncoder().encode(`Ü${"long ".repeat(100_000)}`), TEXT],
    ["bytes", anyBytes(8 * MIB + 3), "image/png"],
    ["nothing", new Uint8Array(), "image/gif"],
  ] as const;
  for (const [name, body, type] of sent) {
    const response = await putAs(id, name, { body, type });
    expect([response.status, await response.json()]).toMatchObject([201, { name }]);
  }
}

/** Reads the body too, because an unread one keeps the object awake. */
async function statusOf(responding: Promise<Response>): Promise<number> {
  const response = await responding;
  await response.arrayBuffer();
  return response.status;
}

/** Fills a conversation with data of every kind. */
async function fill(id: string): Promise<void> {
  await ask(id, "Weather in NYC?", { input: { a: 1 } });
  await ask(id, "Show my orders", { agent: "orders" });
  const file = { type: "file", mediaType: "text/plain", filename: "n.txt", url: "data:,hello" };
  await ask(id, { role: "user", parts: [{ type: "text", text: "See" }, file] });
  await ask(id, "y".repeat(1_500_000));
  await fillVariables(id);
  await put(id, "expired?ttl=3600", 1);
  await inStorage(id, ({ sql }) => {
    sql.exec("UPDATE variable SET expires_at = 1 WHERE name = 'expired'");
  });
  await evictDurableObject(objectOf(id));
  await runAlarm(id);
  const calls = [{ _tool: "get_weather", location: "Paris", _outputPath: "†state.w" }];
  const plan = JSON.parse(await post(`/conversations/${id}/plans`, { calls })) as { id: string };
  await post(`/conversations/${id}/plans/${plan.id}/approve`, {});
  await post(`/conversations/${id}/plans/${plan.id}/run`, {});
  const titled = await call("PATCH", `/conversations/${id}`, json({ title: "Über “alles”" }));
  await titled.json();
}

describe("a conversation that is exported, deleted and imported", () => {
  it("is the same as before", slow, async () => {
    const id = newId();
    await fill(id);
    const before = await allOf(id);
    const buried = async () =>
      (await rowsIn(id, "tombstone")).map(({ data }) => JSON.parse(String(data)) as object);
    const tombstones = await buried();
    expect(tombstones.length).toBeGreaterThan(0);
    expect(JSON.stringify(before.plans)).toContain('"state"');
    const file = await exportOf(id);
    await remove(id);
    expect(await blobsOf(id)).toEqual([]);
    expect(await imported(file)).toBe(id);
    expect(await allOf(id)).toEqual(before);
    expect(await buried()).toEqual(tombstones);
    expect(await statusOf(get(id, "expired"))).toBe(410);
    // Counters continue from their old values.
    await evictDurableObject(objectOf(id));
    expect(await allOf(id)).toEqual(before);
    const next = await put(id, "list", 3);
    expect(next.version).toBe(3);
    await ask(id, "Weather in NYC?");
    expect(await statusOf(get(id, "get_weather_nyc/info"))).toBe(200);
  });

  it("has its files and their guards, but no secret file", async () => {
    const id = newId();
    await put(id, "a", 1);
    const { BLOBS } = env;
    const folder = (of: string) => `${objectOf(of).id}/files/`;
    const customMetadata = { visibility: "sealed derived", trusted: "false", sources: '["mcp:x"]' };
    const body = anyBytes(500_000);
    const httpMetadata = { contentType: "text/csv" };
    await BLOBS.put(`${folder(id)}a/b.csv`, body, { customMetadata, httpMetadata });
    const secret = { ...customMetadata, visibility: "secret" };
    await BLOBS.put(`${folder(id)}c`, "hidden-canary", { customMetadata: secret });
    const file = await exportOf(id);
    expect(file).not.toContain(btoa("hidden-canary"));
    const copy = await imported(file);
    expect(copy).not.toBe(id);
    const found = await BLOBS.list({ prefix: folder(copy) });
    expect(found.objects.map(({ key }) => key)).toEqual([`${folder(copy)}a/b.csv`]);
    const object = await BLOBS.get(`${folder(copy)}a/b.csv`);
    expect(object?.customMetadata).toEqual(customMetadata);
    expect(object?.httpMetadata?.contentType).toBe("text/csv");
    expect(new Uint8Array((await object?.arrayBuffer()) ?? [])).toEqual(body);
  });

  it("has no secrets, but tombstones of them", async () => {
    const id = newId();
    await put(id, "key?visibility=secret&description=A key", "canary-value");
    const file = await exportOf(id);
    expect(file).toContain('"A key"');
    expect(file).not.toMatch(/canary|Y2FuYXJ5/u);
    const copy = await imported(file);
    const response = await get(copy, "key");
    expect(response.status).toBe(410);
    expect(await response.text()).toContain("left_out");
    expect((await put(copy, "key?visibility=secret", "again")).version).toBe(2);
  });

  it("has the files of its messages under its new id", async () => {
    const id = newId();
    const file = { type: "file", mediaType: "text/plain", filename: "n.txt", url: "data:,hello" };
    await ask(id, { role: "user", parts: [{ type: "text", text: "See" }, file] });
    const copy = await imported(await exportOf(id));
    const [question] = (await messagesOf(copy)).messages;
    const part = question?.parts.find(({ type }) => type === "file");
    const url = part?.type === "file" ? part.url : "";
    expect(url).toBe(`/conversations/${copy}/variables/n`);
    expect(await (await call("GET", url)).text()).toBe("hello");
  });
});
