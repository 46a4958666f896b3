import { jsonSchema, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { VariableStore } from "../../src/store/variables.ts";
import type { AnyTool } from "../../src/tool/wrapped-tool.ts";
import { failureOf, returning, run, runOnce } from "../support/wrapped.ts";
import { csvRecords } from "../../src/store/bytes/csv-records.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import * as limits from "../../src/limits.ts";
import { slow } from "../support/slow.ts";
import { toolOf } from "../support/tool-of.ts";

const bytes = new Uint8Array([1, 2, 254, 255]);

async function bytesOf(store: VariableStore, name: string): Promise<Uint8Array> {
  const open = store.open(name);
  if (open === undefined) throw new Error("It is not there.");
  try {
    return await open.read(0, open.info.bytes);
  } finally {
    open.close();
  }
}

const csv = new TextEncoder().encode("id,n\r\n1,1.50\r\n2,\r\n");

it.each<[string, () => unknown]>([
  ["bytes with their media type", () => ({ bytes: csv, mediaType: "text/csv" })],
  ["a Blob", () => new Blob([csv], { type: "text/csv" })],
  ["a Response", () => new Response(csv, { headers: { "content-type": "text/csv" } })],
])("a CSV that a tool returns keeps its bytes, and is read as records: %s", async (_, result) => {
  const options = { store: new MemoryStore({ csv: csvRecords }) };
  const { saved, store } = await runOnce(returning(result), {}, options);
  expect(saved?.info).toMatchObject({ type: "array", count: 2, mediaType: "text/csv" });
  expect(saved?.output).toMatchObject({
    value: [
      { id: 1, n: 1.5 },
      { id: 2, n: null },
    ],
  });
  expect(await store.readPath("act_1", [{ each: true }, { key: "id" }])).toMatchObject({
    value: [1, 2],
  });
  expect(await bytesOf(store, "act_1")).toEqual(csv);
});

describe("bytes that a tool returns", () => {
  const OCTETS = "application/octet-stream";

  it.each<[string, () => unknown, string]>([
    ["a Uint8Array", () => bytes, OCTETS],
    ["a view of a larger buffer", () => new Uint8Array([9, ...bytes, 9]).subarray(1, 5), OCTETS],
    ["a DataView", () => new DataView(bytes.buffer), OCTETS],
    ["an ArrayBuffer", () => bytes.buffer, OCTETS],
    ["a Blob", () => new Blob([bytes], { type: "image/png" }), "image/png"],
    ["a File", () => new File([bytes], "a.bin"), OCTETS],
    ["bytes with their media type", () => ({ bytes, mediaType: "audio/mpeg" }), "audio/mpeg"],
    ["bytes that are no text", () => ({ bytes, mediaType: "text/plain" }), OCTETS],
    ["bytes that are no JSON", () => ({ bytes, mediaType: "application/json" }), OCTETS],
    ["a stream", () => new Blob([bytes]).stream(), OCTETS],
    [
      "a Response",
      () => new Response(bytes, { headers: { "content-type": "image/gif" } }),
      "image/gif",
    ],
    [
      "a Response whose type has a parameter",
      () => new Response(bytes, { headers: { "content-type": "multipart/mixed; boundary=b" } }),
      "multipart/mixed; boundary=b",
    ],
  ])("are saved unchanged: %s", async (_, result, mediaType) => {
    const { saved, store } = await runOnce(returning(result), {});
    expect(saved?.info).toMatchObject({ type: "bytes", count: 4, mediaType });
    expect(saved?.output).toMatchObject({ $var: "act_1", type: "bytes", bytes: 4, try: [] });
    expect([...(await bytesOf(store, "act_1"))]).toEqual([...bytes]);
  });

  // A Buffer is often a view of a larger one, and `slice` returns another view.
  it.each([
    ["bytes", (own: Uint8Array) => own],
    ["bytes with their media type", (own: Uint8Array) => ({ bytes: own, mediaType: OCTETS })],
  ])("are copied: the tool may keep using its own %s", async (_, result) => {
    for (const own of [bytes.slice(), Buffer.from(bytes), Buffer.alloc(9, bytes).subarray(4, 8)]) {
      const { store } = await runOnce(
        returning(() => result(own)),
        {},
      );
      own.fill(0);
      expect([...(await bytesOf(store, "act_1"))]).toEqual([...bytes]);
    }
  });
});

describe("a Response that a tool returns", () => {
  const answering = (body: BodyInit | null, type: string, status = 200) =>
    runOnce(
      returning(() => new Response(body, { status, headers: { "content-type": type } })),
      {},
    );

  it.each([
    ['{"a": [1]}', "application/json", { a: [1] }],
    ["Hällo.", "text/plain; charset=utf-8", "Hällo."],
    // anomalyco/opencode#45902
    [new Uint8Array([0x67, 0x72, 0xfc, 0x6e]), "text/plain; charset=iso-8859-1", "grün"],
    ['{"a":1}\n{"a":2}\n', "application/x-ndjson", [{ a: 1 }, { a: 2 }]],
  ])("is parsed by its content type: %s", async (body, type, value) => {
    const { store, saved } = await answering(body, type);
    expect(await store.read("act_1")).toEqual(value);
    expect(saved?.output).toEqual({ $var: "act_1", value });
  });

  it("becomes the tool's error if its status is an error", async () => {
    const { run: ran, store } = await answering("secret stack", "text/plain", 503);
    expect(failureOf(ran)).toMatchObject({ code: "tool_failed" });
    expect(failureOf(ran)?.message).toContain("503");
    expect(store.count()).toBe(0);
  });

  it("is null without a body, and refused if it does not match its content type", async () => {
    const { store } = await answering(null, "", 204);
    expect(await store.read("act_1")).toBeNull();
    const { run: ran } = await answering("{", "application/json");
    expect(failureOf(ran)).toMatchObject({ code: "bad_json" });
    const other = await answering("a", "text/plain; charset=x-unknown");
    expect(failureOf(other.run)).toMatchObject({ code: "tool_failed" });
  });
});

describe("bytes that a tool receives", () => {
  const withBytes = async () => {
    const store = new MemoryStore();
    const value = await store.receive(new Blob([bytes]).stream(), "image/png");
    await store.save({ name: "photo", value });
    return store;
  };
  const echo = tool({ inputSchema: z.any(), execute: (input: unknown) => input });

  it("are the tool's own Uint8Array if the reference is the whole argument", async () => {
    const store = await withBytes();
    let seen: unknown;
    const act = toolOf({ image: z.instanceof(Uint8Array) }, ({ image }) => {
      seen = image.slice();
      image.fill(0);
      return image.length;
    });
    // zod has no JSON Schema for bytes, so the model sees a schema for text.
    const shown = jsonSchema<{ image: Uint8Array }>(
      { type: "object", properties: { image: { type: "string" } } },
      {
        validate: async (value) => {
          const { success, data } = z.object({ image: z.instanceof(Uint8Array) }).safeParse(value);
          return success ? { success, value: data } : { success: false, error: new Error("No.") };
        },
      },
    );
    const { saved } = await runOnce(
      { ...act, inputSchema: shown } as AnyTool,
      { image: "$photo" },
      { store },
    );
    expect(saved?.output).toMatchObject({ value: 4 });
    expect(seen).toEqual(bytes);
    expect([...(await bytesOf(store, "photo"))]).toEqual([...bytes]);
  });

  it("cannot be embedded in a text or sliced", async () => {
    const store = await withBytes();
    const embedded = await runOnce(echo, { text: "See $photo!" }, { store });
    expect(failureOf(embedded.run)).toMatchObject({ code: "bad_value" });
    expect(failureOf(embedded.run)?.message).toContain("pass it alone");
    const part = await runOnce(echo, { text: "$photo[0]" }, { store });
    expect(failureOf(part.run)).toMatchObject({ code: "bad_value" });
  });
});

it("a tool of the SDK receives copies of messages that contain a URL or bytes", async () => {
  const url = new URL("https://example.com/a.png");
  const data = new Uint8Array([1]);
  let seen: unknown;
  const act = toolOf({}, (_, { messages }) => {
    seen = messages;
    return 1;
  });
  const messages = [
    {
      role: "user" as const,
      content: [
        { type: "file" as const, data: url, mediaType: "image/png" },
        { type: "file" as const, data, mediaType: "image/png" },
      ],
    },
  ];
  const wrapped = await wrapTool("act", act, { store: new MemoryStore() });
  const signal = new AbortController().signal;
  const ran = await run(wrapped, {}, { toolCallId: "c", messages, signal });
  expect([ran.kind, seen]).toEqual(["done", messages]);
  expect((seen as typeof messages)[0]).not.toBe(messages[0]);
});

it("saves a text that is longer than JSON may be", slow, async () => {
  const text = "0123456789".repeat(limits.maxJsonBytes / 10 + 1);
  const { saved, store } = await runOnce(
    returning(() => text),
    {},
  );
  expect(saved?.info).toMatchObject({ type: "string", count: text.length });
  expect(saved?.output).toMatchObject({ try: ["$act_1[:500]"] });
  const end = await store.readPath("act_1", [{ from: -5 }]);
  expect(end).toMatchObject({ found: true, value: text.slice(-5) });
});
