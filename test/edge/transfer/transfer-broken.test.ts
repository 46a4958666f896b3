import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ErrorCode } from "../../../src/errors.ts";
import { ask, call, messagesOf, namesIn, newId, problemIn, put } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { alarmOf, blobsOf, tablesOf } from "../../support/storage.ts";
import {
  changed,
  exportOf,
  fileOf,
  importFile,
  type Line,
  linesIn,
  remove,
} from "../../support/transfer.ts";
import { anyBytes, putAs } from "../../support/values.ts";

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

/** Expects no remains of the conversation, and no other object in the bucket. */
async function expectNothing(id: string, objectsBefore: number): Promise<void> {
  await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  expect(await messagesOf(id)).toEqual({ messages: [] });
  expect(await namesIn(id)).toEqual([]);
  expect(await tablesOf(id)).toEqual([]);
  expect(await alarmOf(id)).toBeNull();
  expect(await blobsOf(id)).toEqual([]);
  expect(await objectsIn()).toBe(objectsBefore);
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
  await expectNothing(id, before);
}

describe("a damaged file", () => {
  it("is refused if it ends after or inside any line", slow, async () => {
    const { id, file } = await someFile();
    const lines = file.trimEnd().split("\n");
    for (let count = 0; count < lines.length; count++) {
      const before = lines.slice(0, count).map((line) => `${line}\n`);
      await expectRefused(id, before.join(""));
      const half = lines[count]?.slice(0, (lines[count]?.length ?? 0) / 2) ?? "";
      await expectRefused(id, before.join("") + half);
    }
    // The last line break of a file is optional.
    expect((await importFile(file.trimEnd())).status).toBe(201);
  });

  it("is refused with a byte flipped in any line", slow, async () => {
    const { id, file } = await someFile();
    const bytes = new TextEncoder().encode(file);
    let start = 0;
    for (const line of file.trimEnd().split("\n")) {
      const length = new TextEncoder().encode(line).length;
      const flipped = bytes.slice();
      const at = start + Math.floor(length * 0.6);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      const before = await objectsIn();
      const response = await importFile(flipped);
      expect([400, 409, 422]).toContain(response.status);
      await response.text();
      await expectNothing(id, before);
      start += length + 1;
    }
  });

  it("is refused with an extra, missing or moved line", async () => {
    const { id, file } = await someFile();
    const lines = file.trimEnd().split("\n");
    const [header = "", first = ""] = lines;
    const join = (some: readonly string[]) => some.map((line) => `${line}\n`).join("");
    await expectRefused(id, join([...lines, first]));
    await expectRefused(id, join([header, ...lines.slice(2)]));
    await expectRefused(id, join([header, first, ...lines.slice(1)]));
    await expectRefused(id, join([first, header, ...lines.slice(2)]));
    await expectRefused(id, join([header, ...lines]));
    await expectRefused(id, `${file}\n`);
  });
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

/** Lines with one event that has this field. */
function badEvents(fields: Readonly<Record<string, object>>): typeof bad {
  const cases = Object.entries(fields).map(([what, field]) => {
    const event = { id: 1, at: "2026-01-01", type: "x", ...field };
    return [
      `an event with ${what}`,
      [[{ type: "events", events: [event] }], "bad_import"],
    ] as const;
  });
  return Object.fromEntries(cases);
}

const bad: Readonly<Record<string, readonly [readonly Line[], ErrorCode]>> = {
  "an unknown type": [[{ type: "other" }], "bad_import"],
  "the deletion of its conversation": [
    [{ type: "error", code: "conversation_not_found", message: "m" }],
    "conversation_not_found",
  ],
  "an error": [[{ type: "error", code: "storage_full", message: "m" }], "bad_import"],
  "data without a variable": [[data], "bad_import"],
  "a system message": [[said({ role: "system" })], "bad_import"],
  "a part without a type": [[part({ text: "t" })], "bad_import"],
  "an unknown part": [[part({ type: "constructor" })], "bad_import"],
  "a text without text": [[part({ type: "text" })], "bad_import"],
  "a file elsewhere": [[part({ type: "file", mediaType: "a/b", url: "https://a" })], "bad_import"],
  "a tool's part without a state": [[part({ type: "tool-x", toolCallId: "c" })], "bad_import"],
  "an approval without id": [
    [part({ type: "tool-x", toolCallId: "c", state: "approval-requested" })],
    "bad_import",
  ],
  "a variable without its value": [[variable({})], "bad_import"],
  "a variable with more bytes": [[variable({ bytes: 0, mediaType: "a/b" }), data], "bad_import"],
  "a variable with fewer": [[variable({ bytes: 2 }), data], "bad_import"],
  "a value that is not JSON": [[variable({}), { type: "data", base64: btoa("x") }], "bad_json"],
  "invalid base64": [[variable({}), { type: "data", base64: "*" }], "bad_import"],
  "an empty piece": [[variable({}), { type: "data", base64: "" }], "bad_import"],
  "a bad name": [[variable({ name: "a b" }), data], "bad_name"],
  "an unknown guard": [[variable({ visibility: "public" }), data], "bad_import"],
  "a version below 1": [[variable({ version: 0 }), data], "bad_import"],
  "a bad time": [[variable({ createdAt: "yesterday" }), data], "bad_import"],
  "a variable twice": [[variable({}), data, variable({}), data], "conflict"],
  "a value of another length": [
    [variable({ bytes: 99_614_721, mediaType: "a/b" }), data],
    "bad_import",
  ],
  "events with a gap": [
    [{ type: "events", events: [1, 3].map((id) => ({ id, at: "2026-01-01", type: "x" })) }],
    "bad_value",
  ],
  ...badEvents({
    "a tool that is no text": { tool: 1 },
    "a call that is no text": { toolCallId: {} },
    "a variable that is no object": { variable: "v" },
    "a variable that is a list": { variable: [1] },
    "a variable without sources": { variable: { name: "v" } },
    "sources that are a text": { variable: { name: "v", sources: "tool:x" } },
    "sources that are no texts": { variable: { name: "v", sources: [null] } },
    "a variable's tool that is no text": { variable: { name: "v", sources: [], tool: true } },
    "a variable's call that is no text": { variable: { name: "v", sources: [], toolCallId: 1 } },
    "a file without a path": { file: {} },
    "a query without variables": { query: { digest: "d" } },
  }),
  "a run without its plan": [
    [
      {
        type: "run",
        record: {
          id: "r",
          plan: "p",
          status: "done",
          calls: {},
          gates: {},
          keep: true,
          needs: [],
          createdAt: "2026-01-01",
        },
        input: {},
      },
    ],
    "bad_import",
  ],
  "a file with a bad path": [
    [
      {
        type: "file",
        path: "../../x",
        bytes: 1,
        mediaType: "a/b",
        visibility: "model",
        sources: [],
        trusted: true,
      },
      data,
    ],
    "bad_path",
  ],
};

describe("a file with a valid digest", () => {
  const header = (id: string, more: object = {}) => ({
    type: "byref",
    version: 1,
    id,
    title: null,
    createdAt: "2026-01-01",
    ...more,
  });

  it.each(Object.entries(bad))("is refused with %s", async (_, [lines, code]) => {
    const id = newId();
    await expectRefused(id, await fileOf([header(id), ...lines]), code);
  });

  it.each([0, 2, "1", null])("is refused in version %s", async (version) => {
    const id = newId();
    await expectRefused(id, await fileOf([header(id, { version })]), "bad_import");
  });

  it.each(["a/b", "..", "", "日本", "a\nb", "x".repeat(129)])(
    "is refused under the id %j",
    async (bad) => {
      const id = newId();
      const response = await importFile(await fileOf([header(bad)]));
      expect([400, 422]).toContain(response.status);
      await response.text();
      await expectNothing(id, await objectsIn());
    },
  );

  it("is imported, even if it is empty", async () => {
    const id = newId();
    const response = await importFile(await fileOf([header(id, { title: "T" })]));
    expect([response.status, await response.json()]).toEqual([201, { id }]);
    expect(await (await call("GET", `/conversations/${id}`)).json()).toMatchObject({ title: "T" });
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
