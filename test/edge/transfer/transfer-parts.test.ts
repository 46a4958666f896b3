import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { ask, call, callWith, get, messagesOf, newId, problemIn, put } from "../../support/edge.ts";
import { alarmOf, HOUR_MS, tablesOf } from "../../support/storage.ts";
import { allOf, exportOf, importFile, imported, remove } from "../../support/transfer.ts";

interface Begun {
  readonly id: string;
  /** Five parts with arbitrary limits, which need not be ends of lines. */
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
}

const KEYS = { one: "a-key-of-tenant-one", two: "a-key-of-tenant-two" };

async function fileInParts(): Promise<Begun> {
  const id = newId();
  await ask(id, "Weather in NYC?");
  await put(id, "a", "ü".repeat(300_000));
  const bytes = new TextEncoder().encode(await exportOf(id));
  await remove(id);
  const size = Math.ceil(bytes.length / 5);
  const parts = [0, 1, 2, 3, 4].map((part) => bytes.slice(part * size, (part + 1) * size));
  return { id, parts };
}

/** Sends a part, and returns the id of the import. */
async function send(part: number, body: BodyInit | undefined, upload = ""): Promise<string> {
  const query = `?part=${part}&of=5${upload === "" ? "" : `&import=${upload}`}`;
  const response = await importFile(body ?? "", query);
  const answer = await response.json<{ readonly import: string }>();
  expect([response.status, answer]).toEqual([202, { import: answer.import, part, of: 5 }]);
  return answer.import;
}

function partsOf(upload: string, tenant = "local") {
  const { CONVERSATIONS } = env;
  const name = JSON.stringify([tenant, upload, "import"]);
  return CONVERSATIONS.get(CONVERSATIONS.idFromName(name));
}

async function expectSwept(upload: string): Promise<void> {
  const object = partsOf(upload);
  await runInDurableObject(object, async (_, { storage }) => {
    const tables = storage.sql.exec(
      "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'",
    );
    expect(tables.toArray()).toEqual([]);
    expect(await storage.getAlarm()).toBeNull();
  });
  expect((await env.BLOBS.list({ prefix: `${object.id}/` })).objects).toEqual([]);
}

describe("a file in parts", () => {
  it("is imported with its last part, and not before", async () => {
    const { id, parts } = await fileInParts();
    let upload = "";
    for (const part of [1, 2, 3, 4]) {
      upload = await send(part, parts[part - 1], upload);
      expect(await messagesOf(id)).toEqual({ messages: [] });
      expect(await tablesOf(id)).toEqual([]);
    }
    expect(await imported(parts[4] ?? "", `?part=5&of=5&import=${upload}`)).toBe(id);
    const { messages } = await messagesOf(id);
    expect(messages.length).toBe(2);
    expect(await (await get(id, "a")).text()).toBe("ü".repeat(300_000));
    await expectSwept(upload);
  });

  it("uses the last version of a part that is sent twice", async () => {
    const { id, parts } = await fileInParts();
    const upload = await send(1, "not this");
    await send(1, parts[0], upload);
    await send(2, parts[1], upload);
    await send(3, parts[2], upload);
    await send(2, parts[1], upload);
    await send(4, parts[3], upload);
    expect(await imported(parts[4] ?? "", `?part=5&of=5&import=${upload}`)).toBe(id);
  });

  it("needs parts in order, of one file, and of a known import", async () => {
    const { id, parts } = await fileInParts();
    const [first, , third = ""] = parts;
    await problemIn(await importFile(third, "?part=3&of=5"), "bad_request");
    const unknown = `?part=3&of=5&import=${newId()}`;
    await problemIn(await importFile(third, unknown), "not_found");
    const upload = await send(1, first);
    const ahead = await problemIn(
      await importFile(third, `?part=3&of=5&import=${upload}`),
      "conflict",
    );
    expect(ahead["next"]).toBe(2);
    await problemIn(await importFile(third, `?part=2&of=6&import=${upload}`), "bad_request");
    for (const query of [
      "?part=0",
      "?part=6&of=5",
      "?of=101",
      "?part=x",
      "?part=2&of=2&import=a/b",
    ]) {
      const response = await importFile(third, query);
      expect([query, response.status]).toEqual([query, 400]);
      await response.text();
    }
    // The rejected requests did no harm.
    for (const part of [2, 3, 4]) await send(part, parts[part - 1], upload);
    expect(await imported(parts[4] ?? "", `?part=5&of=5&import=${upload}`)).toBe(id);
  });

  it("changes nothing if its parts are swapped, and is deleted", async () => {
    const { id, parts } = await fileInParts();
    const upload = await send(1, parts[1]);
    await send(2, parts[0], upload);
    for (const part of [3, 4]) await send(part, parts[part - 1], upload);
    const last = await importFile(parts[4] ?? "", `?part=5&of=5&import=${upload}`);
    await problemIn(last, "bad_import");
    expect(await tablesOf(id)).toEqual([]);
    await expectSwept(upload);
  });

  it("belongs to its tenant", async () => {
    const keys = {
      AUTH: "bearer",
      API_KEYS: JSON.stringify({ [KEYS.one]: "one", [KEYS.two]: "two" }),
    };
    const by = (tenant: keyof typeof KEYS) => {
      const bearer = callWith(keys);
      return (method: string, path: string, init: RequestInit = {}) =>
        bearer(method, path, { ...init, headers: { authorization: `Bearer ${KEYS[tenant]}` } });
    };
    const { id, parts } = await fileInParts();
    const begun = await importFile(parts[0] ?? "", "?part=1&of=5", by("one"));
    const { import: upload } = await begun.json<{ readonly import: string }>();
    const next = `?part=2&of=5&import=${upload}`;
    await problemIn(await importFile(parts[1] ?? "", next, by("two")), "not_found");
    await problemIn(await importFile(parts[1] ?? "", next), "not_found");
    // A conversation with the upload's id is another object.
    const path = `/conversations/${upload}`;
    await problemIn(await by("one")("GET", path), "conversation_not_found");
    await problemIn(await by("one")("GET", `${path}/export`), "conversation_not_found");
    for (const part of [2, 3, 4]) {
      const query = `?part=${part}&of=5&import=${upload}`;
      expect((await importFile(parts[part - 1] ?? "", query, by("one"))).status).toBe(202);
    }
    const last = `?part=5&of=5&import=${upload}`;
    expect((await importFile(parts[4] ?? "", last, by("one"))).status).toBe(201);
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
    const own = await by("one")("GET", `/conversations/${id}`);
    expect(await own.json()).toMatchObject({ id, messages: 2 });
    await exportOf(id, by("one"));
    const foreign = await by("two")("GET", `/conversations/${id}/export`);
    await problemIn(foreign, "conversation_not_found");
  });

  it("is deleted when no more parts arrive", async () => {
    const { parts } = await fileInParts();
    const upload = await send(1, parts[0]);
    const object = partsOf(upload);
    await runInDurableObject(object, async (_, { storage }) => {
      const alarm = (await storage.getAlarm()) ?? Infinity;
      expect(alarm).toBeLessThanOrEqual(Date.now() + HOUR_MS);
      for (const table of ["variable", "event", "meta"]) {
        const column = { variable: "accessed_at", event: "at", meta: "value" }[table];
        const where = table === "meta" ? "WHERE key = 'created'" : "";
        storage.sql.exec(`UPDATE ${table} SET ${column} = ${column} - ${HOUR_MS + 1_000} ${where}`);
      }
    });
    await evictDurableObject(object);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    await expectSwept(upload);
    const query = `?part=2&of=5&import=${upload}`;
    await problemIn(await importFile(parts[1] ?? "", query), "not_found");
  });

  it("is refused with a part of more than 95 MiB, before it is read", async () => {
    const headers = { "content-length": "99614721" };
    const response = await call("POST", "/conversations/import", { body: "x", headers });
    await problemIn(response, "body_too_large");
  });
});

describe("an import under an id that is taken", () => {
  it("gets a new id, and does not change the existing conversation", async () => {
    const id = newId();
    await ask(id, "Weather in NYC?");
    const file = await exportOf(id);
    await put(id, "later", 1);
    const before = await allOf(id);
    const copy = await imported(file);
    expect(copy).not.toBe(id);
    expect(await allOf(id)).toEqual(before);
    expect((await messagesOf(copy)).messages).toEqual((await messagesOf(id)).messages);
    expect(await alarmOf(copy)).not.toBeNull();
  });

  it("gets a separate id for each of several concurrent imports", async () => {
    const id = newId();
    await put(id, "a", 1);
    const file = await exportOf(id);
    await remove(id);
    const ids = await Promise.all([1, 2, 3].map(() => imported(file)));
    expect(new Set(ids).size).toBe(3);
    expect(ids).toContain(id);
  });
});
