import { evictDurableObject, runInDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { ConversationObject } from "../../../src/edge/conversation.ts";
import { inside } from "../../support/inside.ts";
import {
  ask,
  type Call,
  call,
  get,
  json,
  messagesOf,
  newId,
  objectOf,
  problemIn,
  put,
  callWith,
} from "../../support/edge.ts";
import {
  expectGone,
  expectNothing,
  blobsOf,
  inStorage,
  rowsIn,
  runAlarm,
  tablesOf,
  HOUR_MS,
} from "../../support/storage.ts";
import {
  allOf,
  exportOf,
  fork,
  remove,
  imported,
  importFile,
  changed,
  fileOf,
  type Line,
  linesIn,
} from "../../support/transfer.ts";
import { anyBytes, putAs, NDJSON, TEXT } from "../../support/values.ts";
import { env } from "cloudflare:workers";
import { slow } from "../../support/slow.ts";
import type { ErrorCode } from "../../../src/errors.ts";

it("a fork is independent of its original, and has its own stored values", async () => {
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

it("a fork has no secrets, and is not created from a missing conversation", async () => {
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

it("a fork refuses an id that is taken or invalid", async () => {
  const id = newId();
  const other = newId();
  await put(id, "a", 1);
  await put(other, "b", 2);
  const before = await allOf(other);
  const onto = (target: string) => call("POST", `/conversations/${id}/fork`, json({ id: target }));
  await problemIn(await onto(other), "conversation_exists");
  await problemIn(await onto(id), "conversation_exists");
  await problemIn(await onto("a/b"), "bad_request");
  expect(await allOf(other)).toEqual(before);
  expect((await call("POST", `/conversations/${id}/fork`)).status).toBe(201);
});

/** Calls the object directly, as the Worker does. */
function transfer(conversation: ConversationObject, what: string, init?: RequestInit) {
  return conversation.fetch(new Request(`http://conversation/transfer/${what}`, init));
}

it("a transfer ends with an error if the conversation changes during its export", async () => {
  const id = newId();
  await put(id, "big", ["x".repeat(3_000_000)]);
  const { body } = await call("GET", `/conversations/${id}/export`);
  let text = "";
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (text === "") await put(id, "later", 1);
    text += piece;
  }
  expect(text.trimEnd().split("\n").at(-1)).toContain('{"type":"error","code":"conflict"');
  // The failed export has released everything that it opened.
  expect((await call("DELETE", `/conversations/${id}`)).status).toBe(204);
  expect(await blobsOf(id)).toEqual([]);
});

it("a transfer leaves nothing of an import that the end of the process interrupts", async () => {
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

it("a conversation is the same after export, deletion and import", slow, async () => {
  const id = newId();
  await fill(id);
  const before = await allOf(id);
  const buried = async () =>
    (await rowsIn(id, "tombstone")).map(({ data }) => JSON.parse(String(data)) as object);
  const tombstones = await buried();
  expect(JSON.stringify(before.plans)).toContain('"state"');
  for (const table of ["message", "chunk", "variable", "event", "meta", "tombstone", "plan"]) {
    expect([table, (await rowsIn(id, table)).length]).not.toEqual([table, 0]);
  }
  expect((await blobsOf(id)).length).toBeGreaterThan(0);
  const file = await exportOf(id);
  await remove(id);
  await expectNothing(id);
  await problemIn(await get(id, "expired"), "variable_not_found");
  await evictDurableObject(objectOf(id));
  await expectNothing(id);
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

it("a conversation's files and guards survive that, but for secret files", slow, async () => {
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

interface Begun {
  readonly id: string;
  /** Five parts with arbitrary limits, which need not be ends of lines. */
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
}

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
    await expectGone(partsOf(upload));
  });

  it("needs parts in order, of one file, and of a known import", slow, async () => {
    const { parts } = await fileInParts();
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
    const wrong = ["?part=0", "?part=6&of=5", "?of=101", "?part=x", "?part=2&of=2&import=a/b"];
    for (const query of wrong) {
      const response = await importFile(third, query);
      expect([query, response.status]).toEqual([query, 400]);
      await response.text();
    }
    // The rejected requests did no harm.
    await send(2, parts[1], upload);
  });

  it("belongs to its tenant", slow, async () => {
    const API_KEYS = JSON.stringify({ "a-key-of-tenant-one": "one", "a-key-of-tenant-two": "two" });
    const bearer = callWith({ AUTH: "bearer", API_KEYS });
    const by =
      (tenant: string): Call =>
      (method, path, init) =>
        bearer(method, path, {
          ...init,
          headers: { authorization: `Bearer a-key-of-tenant-${tenant}` },
        });
    const { parts } = await fileInParts();
    const begun = await importFile(parts[0] ?? "", "?part=1&of=5", by("one"));
    const { import: upload } = await begun.json<{ readonly import: string }>();
    const next = `?part=2&of=5&import=${upload}`;
    await problemIn(await importFile(parts[1] ?? "", next, by("two")), "not_found");
    await problemIn(await importFile(parts[1] ?? "", next), "not_found");
    // A conversation with the upload's id is another object.
    const path = `/conversations/${upload}`;
    await problemIn(await by("one")("GET", path), "conversation_not_found");
    await problemIn(await by("one")("GET", `${path}/export`), "conversation_not_found");
    expect((await importFile(parts[1] ?? "", next, by("one"))).status).toBe(202);
  });

  it("is deleted when no more parts arrive", slow, async () => {
    const { parts } = await fileInParts();
    const upload = await send(1, parts[0]);
    const object = partsOf(upload);
    const LONGEST_MS = (HOUR_MS * 25) / 24;
    await runInDurableObject(object, async (_, { storage }) => {
      const alarm = (await storage.getAlarm()) ?? Infinity;
      expect(alarm).toBeLessThanOrEqual(Date.now() + LONGEST_MS);
      for (const table of ["variable", "event", "meta"]) {
        const column = { variable: "accessed_at", event: "at", meta: "value" }[table];
        const where = table === "meta" ? "WHERE key = 'created'" : "";
        storage.sql.exec(
          `UPDATE ${table} SET ${column} = ${column} - ${LONGEST_MS + 1_000} ${where}`,
        );
      }
    });
    await evictDurableObject(object);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    await expectGone(partsOf(upload));
    const query = `?part=2&of=5&import=${upload}`;
    await problemIn(await importFile(parts[1] ?? "", query), "not_found");
  });
});

/** Returns the export of a conversation that is deleted afterwards. */
async function someFile(): Promise<{ readonly id: string; readonly file: string }> {
  const id = newId();
  await ask(id, "Weather in NYC?");
  await put(id, "a", [1, 2, 3]);
  await put(id, "b?visibility=sealed", "text");
  const body = anyBytes(100_000);
  await (await putAs(id, "bytes", { body, type: "image/png" })).text();
  const file = await exportOf(id);
  await remove(id);
  return { id, file };
}

async function objectsIn(): Promise<number> {
  return (await env.BLOBS.list()).objects.length;
}

async function expectRefused(
  id: string,
  file: BodyInit,
  code: ErrorCode = "bad_import",
): Promise<void> {
  const before = await objectsIn();
  const problem = await problemIn(await importFile(file), code);
  expect(problem.detail.length).toBeLessThan(400);
  await expectNothing(id);
  expect(await objectsIn()).toBe(before);
}

it("a damaged file is refused, whichever line is cut, changed or missing", slow, async () => {
  const { id, file } = await someFile();
  const lines = file.trimEnd().split("\n");
  for (const [count, line] of lines.entries()) {
    const before = lines.slice(0, count).map((one) => `${one}\n`);
    const rest = lines.slice(count + 1).map((one) => `\n${one}`);
    const at = Math.floor(line.length * 0.6);
    const flipped = String.fromCharCode(line.charCodeAt(at) ^ 1);
    await expectRefused(id, before.join(""));
    await expectRefused(id, before.join("") + line.slice(0, line.length / 2));
    const changed = [line.slice(0, at), flipped, line.slice(at + 1), ...rest];
    const response = await importFile([...before, ...changed].join(""));
    expect([400, 409, 422]).toContain(response.status);
    await response.text();
    await expectNothing(id);
  }
  // The last line break of a file is optional.
  expect((await importFile(file.trimEnd())).status).toBe(201);
});

const message = {
  id: "m",
  role: "user",
  parts: [{ type: "text", text: "t" }],
  createdAt: "2026-01-01",
};
const info = {
  name: "v",
  version: 1,
  bytes: 1,
  mediaType: "application/json",
  createdAt: "2026-01-01",
  updatedAt: "2026-01-01",
  pinned: false,
  visibility: "model",
  sources: [],
  trusted: true,
};
const data = { type: "data", base64: btoa("1") };
const variable = (changes: object) => ({ type: "variable", info: { ...info, ...changes } });
const said = (changes: object) => ({ type: "message", message: { ...message, ...changes } });
const part = (fields: object) => said({ parts: [fields] });

const run = {
  id: "r",
  plan: "p",
  status: "done",
  calls: {},
  gates: {},
  keep: true,
  needs: [],
  createdAt: "2026-01-01",
};
const file = {
  type: "file",
  path: "../../x",
  bytes: 1,
  mediaType: "a/b",
  visibility: "model",
  sources: [],
  trusted: true,
};
const events = (...all: readonly object[]) => ({
  type: "events",
  events: all.map((one) => ({ id: 1, at: "2026-01-01", type: "x", ...one })),
});

type Bad = readonly [what: string, lines: readonly Line[], code?: ErrorCode];
const bad: readonly Bad[] = [
  ["an unknown type", [{ type: "other" }]],
  ["an error", [{ type: "error", code: "storage_full", message: "m" }]],
  [
    "the deletion of its conversation",
    [{ type: "error", code: "conversation_not_found", message: "m" }],
    "conversation_not_found",
  ],
  ["data without a variable", [data]],
  ["a part without a type", [part({ text: "t" })]],
  ["an unknown part", [part({ type: "constructor" })]],
  ["a file elsewhere", [part({ type: "file", mediaType: "a/b", url: "https://a" })]],
  ["a tool's part without a state", [part({ type: "tool-x", toolCallId: "c" })]],
  [
    "an approval without id",
    [part({ type: "tool-x", toolCallId: "c", state: "approval-requested" })],
  ],
  ["a variable without its value", [variable({})]],
  ["a variable with more bytes", [variable({ bytes: 0, mediaType: "a/b" }), data]],
  ["a variable with fewer", [variable({ bytes: 2 }), data]],
  ["a value of another length", [variable({ bytes: 99_614_721, mediaType: "a/b" }), data]],
  ["a value that is not JSON", [variable({}), { type: "data", base64: btoa("x") }], "bad_json"],
  ["invalid base64", [variable({}), { type: "data", base64: "*" }]],
  ["a bad name", [variable({ name: "a b" }), data], "bad_name"],
  ["a version below 1", [variable({ version: 0 }), data]],
  ["a variable twice", [variable({}), data, variable({}), data], "conflict"],
  ["events with a gap", [events({}, { id: 3 })], "bad_value"],
  ["a tool that is no text in an event", [events({ tool: 1 })]],
  ["a variable that is no object in an event", [events({ variable: "v" })]],
  ["a variable without sources in an event", [events({ variable: { name: "v" } })]],
  ["sources that are a text", [events({ variable: { name: "v", sources: "tool:x" } })]],
  ["a query without variables", [events({ query: { digest: "d" } })]],
  ["a run without its plan", [{ type: "run", record: run, input: {} }]],
  ["a file with a bad path", [file, data], "bad_path"],
];

describe("a file with a valid digest", () => {
  const header = (id: string, more: object = {}) => ({
    type: "byref",
    version: 1,
    id,
    title: null,
    createdAt: "2026-01-01",
    ...more,
  });

  const rows = bad.map(([what, lines, code = "bad_import"]) => ({ what, lines, code }));

  it.each(rows)("is refused with $what", async ({ lines, code }) => {
    const id = newId();
    await expectRefused(id, await fileOf([header(id), ...lines]), code);
  });

  it.each(["a/b", "..", "", "日本", "a\nb", "x".repeat(129)])("is no id: %j", async (bad) => {
    const id = newId();
    const response = await importFile(await fileOf([header(bad)]));
    expect([400, 422]).toContain(response.status);
    await response.text();
    await expectNothing(id);
  });

  it("cannot misrepresent a variable", async () => {
    const { id, file } = await someFile();
    const lying = await changed(file, "variable", ({ info, ...line }) => ({
      ...line,
      info: {
        ...(info as object),
        type: "null",
        count: 7,
        chars: 9,
        preview: "!",
        location: "row",
      },
    }));
    expect((await importFile(lying)).status).toBe(201);
    const kept = linesIn(await exportOf(id)).filter(({ type }) => type === "variable");
    const sent = linesIn(file).filter(({ type }) => type === "variable");
    const shown = (lines: readonly Line[]) =>
      lines.map(({ info }) => ({ ...(info as object), accessedAt: "" }));
    expect(shown(kept)).toEqual(shown(sent));
  });
});
