import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { fileEndpoints } from "../../src/edge/routes/files.ts";
import { call, json, newId, objectOf, problemIn } from "../support/edge.ts";
import { at, body, list, save, folderOf } from "../support/files.ts";
import { type Exchange, httpCases } from "../support/http-cases.ts";
import { withRuntime, type OwnRuntime } from "../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall, type ScriptedModel } from "byref/testing";
import { slow } from "../support/slow.ts";
import { anyBytes } from "../support/values.ts";
import * as limits from "../../src/limits.ts";
import { planning } from "../support/planning.ts";
import { filesIn, R2Files } from "../../src/edge/platform/r2-files.ts";
import type { Files } from "../../src/tool/files.ts";

it("a conversation's files are deleted with it, and survive a rejected write", slow, async () => {
  const id = newId();
  await save(id, "/a.txt", "a");
  await save(id, "/large.bin", anyBytes(9_000_000));
  const refused = { body: "{", headers: { "content-type": "application/json" } };
  await problemIn(await call("PUT", `/conversations/${id}/variables/v`, refused), "bad_json");
  expect((await list(id)).files).toHaveLength(2);
  expect((await call("DELETE", `/conversations/${id}`)).status).toBe(204);
  expect((await env.BLOBS.list({ prefix: `${objectOf(id).id}/` })).objects).toEqual([]);
  expect(await list(id)).toEqual({ files: [] });
});

it("a file's part is a range, also of a large file", slow, async () => {
  const id = newId();
  const bytes = anyBytes(9_000_000);
  const { etag } = await save(id, "/large.bin", bytes);
  const range = (range: string, headers = {}) =>
    call("GET", at(id, "/large.bin"), { headers: { range, ...headers } });
  const part = await range("bytes=8388600-8388620");
  expect(part.status).toBe(206);
  expect(part.headers.get("content-range")).toBe("bytes 8388600-8388620/9000000");
  expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(8_388_600, 8_388_621));
  const whole = await call("GET", at(id, "/large.bin"));
  expect(whole.headers.get("accept-ranges")).toBe("bytes");
  expect(new Uint8Array(await whole.arrayBuffer())).toEqual(bytes);
  expect((await range("bytes=0-1", { "if-range": etag })).status).toBe(206);
  const changed = await range("bytes=0-1", { "if-range": '"another"' });
  expect(changed.status).toBe(200);
  await changed.body?.cancel();
  const beyond = await range("bytes=9000000-");
  expect(beyond.headers.get("content-range")).toBe("bytes */9000000");
  await problemIn(beyond, "range_not_satisfiable");
});

const CSV = "/files/reports/May%202026/ums%C3%A4tze.csv";
const csv = {
  path: "reports/May 2026/umsätze.csv",
  bytes: 5,
  mediaType: "text/csv",
  visibility: "model",
  modified: expect.stringMatching(/^\d{4}-.*Z$/),
};
const one = (headers = {}) => body("one", "text/plain", headers);
/** Segments of a path, and what is wrong with them. */
const PATHS: Readonly<Record<string, string>> = {
  "an encoded slash": "a%2Fb.txt",
  "an encoded traversal": "a%2f..%2fb",
  "an encoded way out": "..%2F..%2Fother",
  "an empty segment": "a//b.txt",
  "an empty first segment": "/a.txt",
  "a backslash": "a%5Cb",
  "a null": "a%00b",
  "a line feed": "a%0Ab",
  "a surrogate": "%ED%A0%80",
  "invalid UTF-8": "%FF",
  "a second scheme": "file:file:a",
  "201 characters": "x".repeat(201),
};

httpCases({
  "a conversation's files are saved, listed, served and deleted": [
    ["GET /files", 200, { files: [] }],
    [`PUT ${CSV}`, body("a,b\r\n", "text/csv"), 201, csv],
    ["GET /files", 200, { files: [csv] }],
    [
      `GET ${CSV}`,
      200,
      "a,b\r\n",
      {
        "content-type": "text/csv",
        "content-disposition": "attachment",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
      },
    ],
    // The same bytes with another content type are another representation.
    [`PUT ${CSV}`, body("a,b\r\n", "text/html"), 200],
    [`PUT ${CSV}`, (etag) => body("x", "text/csv", { "if-match": etag }), 200],
    [`DELETE ${CSV}`, 204],
    [`GET ${CSV}`, "not_found"],
    [`DELETE ${CSV}`, "not_found"],
    ["GET /files", 200, { files: [] }],
  ],
  "a condition guards a file against lost updates": [
    ["PUT /files/a.txt", one({ "if-match": "*" }), "precondition_failed"],
    // A rejected first write leaves no conversation.
    ["GET ", "conversation_not_found"],
    ["PUT /files/a.txt", one({ "if-none-match": "*" }), 201],
    ["PUT /files/a.txt", one({ "if-none-match": "*" }), "precondition_failed"],
    ["GET /files/a.txt", 200, "one"],
    ["PUT /files/a.txt", (etag) => body("two", "text/plain", { "if-match": etag }), 200],
    ["PUT /files/a.txt", one({ "if-match": '"1"' }), "precondition_failed"],
    ["DELETE /files/a.txt", { headers: { "if-match": '"1"' } }, "precondition_failed"],
    ["GET /files/a.txt", 200, "two"],
  ],
  ...Object.fromEntries(
    Object.entries(PATHS).map(([what, path]): [string, readonly Exchange[]] => [
      `a path with ${what} is refused`,
      [
        [`GET /files/${path}`, "bad_path"],
        [`PUT /files/${path}`, one(), "bad_path"],
        [`DELETE /files/${path}`, "bad_path"],
        ["GET ", "conversation_not_found"],
      ],
    ]),
  ),
  "a path that a client resolves leads to another route, and never out of the folder": [
    ["PUT /variables/v", json(1), 201],
    ["GET /files/../variables", 200, { variables: [{ name: "v" }] }],
    ["GET /files/%2e%2e/variables", 200, { variables: [{ name: "v" }] }],
    ["GET /files/a/%2E%2E/../variables", 200, { variables: [{ name: "v" }] }],
    ["PUT /files/a/", one(), "not_found"],
  ],
  "a file with an unsupported content type is refused": [
    [
      "PUT /files/a.txt",
      body("a=1", "application/x-www-form-urlencoded"),
      "unsupported_media_type",
    ],
  ],
  "a file that is longer than a value may be is refused": [
    [
      "PUT /files/a.txt",
      one({ "content-length": `${limits.maxValueBytes + 1}` }),
      "body_too_large",
    ],
  ],
});

it("a file's guards are those of what was written to it", async () => {
  const id = newId();
  await save(id, "/other.txt", "x");
  const content = { text: "key", mediaType: "text/plain" };
  await folderOf(id).write("key.txt", content, { visibility: "secret", sources: [] });
  await problemIn(await call("GET", at(id, "/key.txt")), "variable_secret");
  // A file that replaces a secret is secret too, unless the request sets another visibility.
  expect(await save(id, "/key.txt", "another")).toMatchObject({ visibility: "secret" });
  expect((await folderOf(id).info("key.txt"))?.labels).toMatchObject({
    visibility: "secret",
    sources: ["caller"],
  });
  await problemIn(await call("GET", at(id, "/key.txt")), "variable_secret");
  const init = body("open");
  expect((await call("PUT", at(id, "/key.txt?visibility=model"), init)).status).toBe(200);
  expect(await (await call("GET", at(id, "/key.txt"))).text()).toBe("open");
});

it("a file that cannot be saved exceeds the number of files, or their total size", async () => {
  const id = newId();
  await save(id, "/a.txt", "a");
  const real = await env.BLOBS.list({ prefix: `${objectOf(id).id}/` });
  const listing = vi.spyOn(env.BLOBS, "list");
  const fill = (count: number, size: number) => {
    const objects = Array.from({ length: count }, (_, key) => ({ key: String(key), size }));
    return listing.mockResolvedValue({ ...real, objects, truncated: false } as never);
  };
  const write = () => call("PUT", at(id, "/b.txt"), body("bb"));
  fill(limits.maxFiles, 0);
  const actual = limits.maxFiles + 1;
  expect(await problemIn(await write(), "limit_exceeded")).toMatchObject({
    limit: "maxFiles",
    actual,
  });
  fill(1, limits.maxFilesBytes - 1);
  const limit = "maxFilesBytes";
  expect(await problemIn(await write(), "limit_exceeded")).toMatchObject({ limit });
  fill(1, limits.maxFilesBytes - 2);
  expect((await write()).status).toBe(201);
  listing.mockRestore();
  expect((await list(id)).files.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
});

it("a file that cannot be saved is incomplete: nothing of it is visible", async () => {
  const id = newId();
  await save(id, "/a.txt", "old");
  const broken = new ReadableStream({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode("new"));
      controller.error(new Error("The client has gone."));
    },
  });
  const response = await call("PUT", at(id, "/a.txt"), body(broken)).catch(() => undefined);
  expect(response?.ok ?? false).toBe(false);
  expect(await (await call("GET", at(id, "/a.txt"))).text()).toBe("old");
});

it("a file that cannot be saved has no bucket", async () => {
  const options = { agents: [agent], model: scriptedModel([]), files: fileEndpoints } as const;
  const work = async (own: OwnRuntime) => {
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/a.txt"],
      ["PUT", "/a.txt"],
      ["DELETE", "/a.txt"],
    ] as const) {
      const response = await own.call(method, at("c", path), method === "PUT" ? body("a") : {});
      const { detail } = await problemIn(response, "not_configured");
      expect(detail).toContain("[[r2_buckets]]");
    }
  };
  await withRuntime(options, work, { bindings: { BLOBS: undefined } });
});

const agent = { name: "a", description: "", instructions: "", tools: {} };

const other = (size: number, visibility: string) => ({
  key: `${size}/${visibility}`,
  size,
  customMetadata: { visibility, trusted: "true", sources: "[]" },
});

/** Runs a turn that exports a variable beside these files. Returns the model's prompt, the file and the events. */
async function exported(name: string, others: readonly object[]) {
  const steps = [
    [toolCall("export_variable", { name, file: "file:a.json" }), finish("tool-calls")],
    [text("Done."), finish()],
  ];
  const options = planning({}, { steps });
  return withRuntime(options, async (own) => {
    await own.call("PUT", "/conversations/c/variables/rows", json([1, 2]));
    await own.call("PUT", "/conversations/c/variables/key?visibility=sealed", json("k3y"));
    const listing = vi.spyOn(env.BLOBS, "list");
    listing.mockResolvedValue({ objects: others, truncated: false } as never);
    await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
    listing.mockRestore();
    const { calls } = options.model as ScriptedModel;
    const tool = calls[1]?.prompt.findLast(({ role }) => role === "tool");
    const object = await env.BLOBS.get(`${own.state.id}/files/a.json`);
    const read = JSON.stringify(tool?.content);
    const events = await (await own.call("GET", "/conversations/c/events")).text();
    return { read, file: await object?.text(), events };
  });
}

it("a file that a turn writes is refused if it exceeds the total size, or the number of files", async () => {
  for (const others of [
    [other(limits.maxFilesBytes - 4, "model")],
    Array.from({ length: limits.maxFiles }, () => other(1, "model")),
  ]) {
    const { read, file, events } = await exported("rows", others);
    expect(read).toContain("limit_exceeded");
    expect(file).toBeUndefined();
    expect(events).not.toContain('"file"');
  }
  expect((await exported("rows", [other(limits.maxFilesBytes - 5, "model")])).file).toBe("[1,2]");
});

it("a file that a turn writes shows no sizes of guarded files to the model", async () => {
  const full = await exported("key", [other(limits.maxFilesBytes, "model")]);
  const beside = await exported("rows", [other(limits.maxFilesBytes - 1, "sealed")]);
  for (const { read, file } of [full, beside]) {
    expect(file).toBeUndefined();
    expect(read).toContain("limit_exceeded");
    expect(read).not.toContain(String(limits.maxFilesBytes).slice(0, 3));
  }
});

describe("files in R2", () => {
  /** Creates the folder of a new conversation. */
  function folder(): { readonly prefix: string; readonly files: Files } {
    const prefix = `${crypto.randomUUID()}/`;
    const files = filesIn(env, prefix);
    if (files === undefined) throw new Error("There is no bucket.");
    return { prefix, files };
  }

  const text = (written: string) => ({ text: written, mediaType: "text/plain" });

  it("a conversation's files in R2 are untrusted if somebody else has put them there", async () => {
    const { prefix, files } = folder();
    const customMetadata = { visibility: "private", trusted: "yes", sources: "{", addition: "[1]" };
    await env.BLOBS.put(`${prefix}files/a.md`, "hello");
    await env.BLOBS.put(`${prefix}files/b.md`, "hello", { customMetadata });
    const unknown = { sources: ["bucket"], trusted: false };
    expect((await files.read("a.md"))?.labels).toEqual({ ...unknown, visibility: "model" });
    expect((await files.read("b.md"))?.labels).toEqual({ ...unknown, visibility: "secret" });
    expect((await files.read("b.md"))?.addition).toBeUndefined();
  });

  /** A bucket with this many keys under every prefix. */
  const bucketOf = (count: number) => ({
    asked: 0,
    async list({ prefix, cursor = "0" }: { prefix: string; cursor?: string }) {
      this.asked++;
      const from = Number(cursor);
      const to = Math.min(from + 1_000, count);
      const objects = Array.from({ length: to - from }, (_, index) => ({
        key: `${prefix}${from + index}`,
      }));
      return to < count ? { objects, truncated: true, cursor: String(to) } : { objects };
    },
  });
  const listing = (bucket: object) => new R2Files(bucket as unknown as R2Bucket, "c/").list("n/");

  it("a listing of several pages has at most 5,000 files", async () => {
    expect(await listing(bucketOf(4_999))).toHaveLength(4_999);
    expect(await listing(bucketOf(5_000))).toHaveLength(5_000);
    const bucket = bucketOf(100_000);
    await expect(listing(bucket)).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(bucket.asked).toBe(6);
    await expect(listing(bucketOf(5_001))).rejects.toMatchObject({ code: "limit_exceeded" });
  });

  it("a file that cannot be read is larger than the object may hold", slow, async () => {
    const { files } = folder();
    const body = (chars: number) => text("x".repeat(chars));
    await files.write("a.txt", body(limits.maxJsonBytes), {});
    expect((await files.read("a.txt"))?.text).toHaveLength(limits.maxJsonBytes);
    await files.write("a.txt", body(limits.maxJsonBytes + 1), {});
    await expect(files.read("a.txt")).rejects.toMatchObject({
      code: "limit_exceeded",
      message: expect.stringContaining("file:a.txt"),
    });
    expect(await files.info("a.txt")).toBeDefined();
  });

  it("a file that changes after it was found is a conflict for its reader", async () => {
    const files = folderOf(newId());
    await files.write("a.md", text("one"), {});
    const found = await files.find("a.md");
    await files.write("a.md", text("two"), {});
    await expect(found?.open.read(0, 3)).rejects.toMatchObject({ code: "conflict" });
  });

  it("a write that expects a version is refused where somebody else has written", async () => {
    const { files } = folder();
    const conflicts = (path: string, expected: string | null) =>
      expect(files.write(path, text("two"), { expected })).rejects.toMatchObject({
        code: "conflict",
      });
    await files.write("a.md", text("one"), { expected: null });
    await conflicts("a.md", null);
    const { version = "" } = (await files.info("a.md")) ?? {};
    await files.write("a.md", text("two"), { expected: version });
    await conflicts("a.md", version);
    await conflicts("b.md", version);
    expect((await files.read("a.md"))?.text).toBe("two");
  });
});
