import { env } from "cloudflare:workers";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { fileEndpoints } from "../../src/edge/routes/files.ts";
import { call, json, newId, objectOf, problemIn } from "../support/edge.ts";
import { at, body, list, save, folderOf } from "../support/files.ts";
import { type Exchange, httpCases } from "../support/http-cases.ts";
import { withRuntime, type OwnRuntime } from "../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  text,
  toolCall,
  type ScriptedModel,
} from "../../packages/testing/src/testing.ts";
import { slow } from "../support/slow.ts";
import { ALICE, as, BOB, call as callAs, ticketFor } from "../support/tickets.ts";
import { anyBytes } from "../support/values.ts";
import * as limits from "../../src/limits.ts";
import { planning, approved, runOf } from "../support/planning.ts";
import { filesIn, R2Files } from "../../src/edge/platform/r2-files.ts";
import type { Files } from "../../src/tool/files.ts";

describe("a conversation's files", () => {
  it("include what a turn exports", async () => {
    const options = {
      agents: [{ name: "a", description: "", instructions: "", tools: { rows: rowsTool() } }],
      model: scriptedModel([
        [toolCall("rows", {}), finish("tool-calls")],
        [
          toolCall("export_variable", { name: "rows_1", file: "file:out/rows.csv" }),
          finish("tool-calls"),
        ],
        [text("Done."), finish()],
      ]),
      files: fileEndpoints,
    } as const;
    await withRuntime(options, async (own) => {
      const asked = await own.call("POST", "/conversations/c/messages", json({ message: "Go" }));
      await asked.text();
      const served = await own.call("GET", at("c", "/out/rows.csv"));
      expect(await served.text()).toBe("a\r\n1\r\n2\r\n");
    });
  });

  it("belong to one conversation of one tenant, and a ticket opens one of them", async () => {
    const [id, other] = [newId(), newId()];
    const path = at(id, "/a%20b.txt");
    await callAs("PUT", path, body("alice's", "text/plain", as(ALICE)));
    await problemIn(await callAs("GET", path, { headers: as(BOB) }), "not_found");
    expect(await (await callAs("GET", at(id), { headers: as(BOB) })).json()).toEqual({ files: [] });
    const ticket = await ticketFor(path);
    expect(await (await callAs("GET", `${path}?ticket=${ticket}`)).text()).toBe("alice's");
    for (const forbidden of [at(id), at(id, "/a"), at(other, "/a%20b.txt")]) {
      await problemIn(await callAs("GET", `${forbidden}?ticket=${ticket}`), "unauthorized");
    }
    await problemIn(await callAs("DELETE", `${path}?ticket=${ticket}`), "unauthorized");
  });

  it("are deleted with it, and survive a rejected write", slow, async () => {
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
});

function rowsTool() {
  return tool({ inputSchema: z.object({}), execute: () => [{ a: 1 }, { a: 2 }] });
}

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

describe("a file that cannot be saved", () => {
  it("exceeds the number of files, or their total size", async () => {
    const id = newId();
    await save(id, "/a.txt", "a");
    const real = env.BLOBS.list.bind(env.BLOBS);
    const objectsOf = (count: number, size: number) => async (options?: R2ListOptions) => ({
      ...(await real(options)),
      objects: Array.from({ length: count }, (_, key) => ({ key: String(key), size })),
      truncated: false,
    });
    const listing = vi.spyOn(env.BLOBS, "list") as unknown as {
      mockImplementation(list: unknown): void;
      mockRestore(): void;
    };
    const write = () => call("PUT", at(id, "/b.txt"), body("bb"));
    listing.mockImplementation(objectsOf(limits.maxFiles, 0));
    expect(await problemIn(await write(), "limit_exceeded")).toMatchObject({
      limit: "maxFiles",
      actual: limits.maxFiles + 1,
    });
    listing.mockImplementation(objectsOf(1, limits.maxFilesBytes - 1));
    expect(await problemIn(await write(), "limit_exceeded")).toMatchObject({
      limit: "maxFilesBytes",
    });
    listing.mockImplementation(objectsOf(1, limits.maxFilesBytes - 2));
    expect((await write()).status).toBe(201);
    listing.mockRestore();
    expect((await list(id)).files.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
  });

  it("is incomplete: nothing of it is visible", async () => {
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

  it("has no bucket", async () => {
    const options = { agents: [agent], model: scriptedModel([]), files: fileEndpoints } as const;
    await withRuntime(
      options,
      async (own) => {
        for (const [method, path] of [
          ["GET", ""],
          ["GET", "/a.txt"],
          ["PUT", "/a.txt"],
          ["DELETE", "/a.txt"],
        ] as const) {
          const init = method === "PUT" ? body("a") : {};
          const told = await problemIn(
            await own.call(method, at("c", path), init),
            "not_configured",
          );
          expect(told.detail).toContain("[[r2_buckets]]");
        }
      },
      { bindings: { BLOBS: undefined } },
    );
  });
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
    const listing = vi.spyOn(env.BLOBS, "list") as unknown as {
      mockResolvedValue(page: unknown): void;
      mockRestore(): void;
    };
    listing.mockResolvedValue({ objects: others, truncated: false });
    await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
    listing.mockRestore();
    const { calls } = options.model as ScriptedModel;
    const tool = calls[1]?.prompt.findLast(({ role }) => role === "tool");
    const object = await env.BLOBS.get(`${own.state.id}/files/a.json`);
    const read = JSON.stringify(tool?.content);
    return { read, file: await object?.text(), events: await eventsOf(own) };
  });
}

async function eventsOf(own: OwnRuntime) {
  const response = await own.call("GET", "/conversations/c/events", {
    headers: { accept: "application/json" },
  });
  const { events } = await response.json<{ events: { type: string; file?: object }[] }>();
  return events.flatMap(({ type, file }) => (file === undefined ? [] : [[type, file]]));
}

describe("a file that a turn writes", () => {
  it("is refused if it exceeds the total size, or the number of files", async () => {
    for (const others of [
      [other(limits.maxFilesBytes - 4, "model")],
      Array.from({ length: limits.maxFiles }, () => other(1, "model")),
    ]) {
      const { read, file, events } = await exported("rows", others);
      expect(read).toContain("limit_exceeded");
      expect([file, events]).toEqual([undefined, []]);
    }
    expect((await exported("rows", [other(limits.maxFilesBytes - 5, "model")])).file).toBe("[1,2]");
  });

  it("shows no sizes of guarded files to the model", async () => {
    const full = await exported("key", [other(limits.maxFilesBytes, "model")]);
    const beside = await exported("rows", [other(limits.maxFilesBytes - 1, "sealed")]);
    for (const { read, file } of [full, beside]) {
      expect(file).toBeUndefined();
      expect(read).toContain("limit_exceeded");
      expect(read).not.toContain(String(limits.maxFilesBytes).slice(0, 3));
    }
  });
});

describe("files in R2", () => {
  describe("files", () => {
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
      await env.BLOBS.put(`${prefix}files/a.md`, "hello");
      await env.BLOBS.put(`${prefix}files/b.md`, "hello", {
        customMetadata: { visibility: "private", trusted: "yes", sources: "{", addition: "[1]" },
      });
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

    it("a write that expects a version is refused where somebody else has written", async () => {
      const { files } = folder();
      await files.write("a.md", text("one"), { expected: null });
      await expect(files.write("a.md", text("two"), { expected: null })).rejects.toMatchObject({
        code: "conflict",
      });
      const { version = "" } = (await files.info("a.md")) ?? {};
      await files.write("a.md", text("two"), { expected: version });
      await expect(files.write("a.md", text("three"), { expected: version })).rejects.toMatchObject(
        {
          code: "conflict",
        },
      );
      expect((await files.read("a.md"))?.text).toBe("two");
      await expect(files.write("b.md", text(""), { expected: version })).rejects.toMatchObject({
        code: "conflict",
      });
    });
  });
});

const ROOT = "/conversations/c/plans";

const gated = [
  { _tool: "echo", _id: "gated", value: "†approvals.legal", _outputPath: "†state.gated" },
];

describe("bounds of plans", () => {
  it(
    "waiting runs of a plan are limited, and their inputs are not read needlessly",
    slow,
    async () => {
      await withRuntime(planning(), async (own) => {
        const id = await approved(own, gated);
        const init = () => json({ input: "x".repeat(1_000_000) }, { accept: "application/json" });
        const statuses = new Set<number>();
        for (let run = 0; run < 55; run++) {
          const response = await own.call("POST", `${ROOT}/${id}/run`, init());
          statuses.add(response.status);
          await response.body?.cancel();
        }
        const { sql } = own.state.storage;
        const real = sql.exec.bind(sql);
        let chars = 0;
        Object.defineProperty(sql, "exec", {
          configurable: true,
          value: (statement: string, ...given: unknown[]) => {
            const cursor = real(statement, ...given);
            if (!statement.includes("open = 1")) return cursor;
            const rows = cursor.toArray();
            chars += JSON.stringify(rows).length;
            return Object.assign(Object.create(null), {
              toArray: () => rows,
              rowsRead: 0,
              rowsWritten: 0,
            }) as typeof cursor;
          },
        });
        await own.call("GET", "/conversations/c");
        expect([[...statuses].some((status) => status >= 400), chars < 100_000]).toEqual([
          true,
          true,
        ]);
      });
    },
  );
});

const PLANS = "/conversations/c/plans";

/** Unit tests are in `test/plan`. Here a bucket stores the files. */
it("a template's steps write, extend and read files of the conversation's folder", async () => {
  const says = ["alpha", "beta", "One.", "Two.", "Read."].map((said) => [text(said), finish()]);
  const options = planning({}, { steps: says });
  const body = [
    "## A\n@output file:notes/a.md\n@write-mode replace\nA.",
    "## B\n@output file:notes/b-{today}.md\nB.",
    "## C\n@output file:notes/c.md\nC.",
    "## D\n@output file:notes/c.md\nD.",
    "## E\n@input file:notes/*.md (required)\nRead.",
  ].join("\n");
  await withRuntime(options, async (own) => {
    const init = { body, headers: { "content-type": "text/markdown" } };
    const { id } = await (await own.call("POST", PLANS, init)).json<{ id: string }>();
    await own.call("POST", `${PLANS}/${id}/approve`);
    expect((await runOf(own, id)).status).toBe("done");
    const { calls } = options.model as ScriptedModel;
    const prompt = JSON.stringify(calls[4]?.prompt);
    for (const part of ["alpha", "beta", "One.\\n\\nTwo."]) expect(prompt).toContain(part);
    expect(prompt).toMatch(/notes\/b-\d{4}-\d\d-\d\d\.md/);
  });
});
