import { tool } from "ai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { planSupport } from "../../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../../packages/transfer/src/transfers.ts";
import { transferRecord } from "../../../packages/transfer/src/transfer-format.ts";
import { finish, scriptedModel, text, toolCall } from "../../../packages/testing/src/testing.ts";
import { json } from "../../support/edge.ts";
import { NodeRuntime } from "../../support/node-runtime.ts";
import { sampleStep } from "../../support/slow.ts";
import { fileOf, type Line, linesIn } from "../../support/transfer.ts";

/** Undefined removes the field. */
/** Undefined removes the field. */
const REPLACEMENTS: readonly unknown[] = [
  undefined,
  null,
  true,
  -1,
  1.5,
  1e308,
  "",
  "x",
  "x".repeat(300),
  "\ud800",
  [],
  [null],
  [1],
  {},
  { a: {} },
];

interface Mutation {
  /** Equal for fields that differ only in their place in a list. */
  readonly name: string;
  readonly made: unknown;
}

/** Yields copies of the value in which one field, at any depth, is removed or something else. */
function* mutationsOf(value: unknown, at = ""): Generator<Mutation> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const place = `${at}.${Array.isArray(value) ? "0" : key}`;
    for (const replacement of REPLACEMENTS) {
      const name = `${place} = ${JSON.stringify(replacement)?.slice(0, 20)}`;
      yield { name, made: withField(value, key, replacement) };
    }
    for (const { name, made } of mutationsOf(inner, place)) {
      yield { name, made: withField(value, key, made) };
    }
  }
}

function withField(value: object, key: string, replacement: unknown): unknown {
  if (Array.isArray(value)) return value.with(Number(key), replacement ?? null);
  // Without it, JSON has no field.
  return { ...value, [key]: replacement };
}

const AT = "/conversations/c";
const ACCEPT_JSON = { "content-type": "application/json", accept: "application/json" };

const get = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: () => ({ celsius: 21 }),
});
const pay = tool({ inputSchema: z.object({}), execute: () => "paid" });

function newRuntime(): NodeRuntime {
  const called = [toolCall("get", { city: "Rome" }), finish("tool-calls")];
  const answered = [text("It is $get_rome.celsius."), finish()];
  const waits = [toolCall("pay", {}), finish("tool-calls")];
  const later = Array.from({ length: 20_000 }, () => [text("Hello."), finish()]);
  const policies = { pay: { approval: true } };
  return new NodeRuntime({
    agents: [{ name: "a", description: "", instructions: "", tools: { get, pay }, policies }],
    model: scriptedModel([called, answered, waits, ...later]),
    plans: planSupport(),
    transfer: transfers,
  });
}

function say(runtime: NodeRuntime, message: string): Promise<Response> {
  const init = { body: JSON.stringify({ message }), headers: ACCEPT_JSON };
  return runtime.ask("POST", `${AT}/messages`, init);
}

/** Returns the lines of an export in which something waits. */
async function someLines(runtime: NodeRuntime): Promise<readonly Line[]> {
  const ask = async (method: string, path: string, body: unknown) =>
    (await runtime.ask(method, AT + path, json(body))).text();
  await (await say(runtime, "Weather in Rome?")).text();
  await ask("PUT", "/variables/list", [1, 2]);
  await ask("PUT", "/variables/list", [3]);
  await ask("PUT", "/variables/secret?visibility=secret", "s");
  await ask("PUT", "/variables/sealed?visibility=sealed", "s");
  const calls = [
    { _tool: "get", city: "Rome", _outputPath: "†state.w" },
    { _tool: "pay", _outputPath: "†state.paid" },
  ];
  const { id } = JSON.parse(await ask("POST", "/plans", { calls })) as { id: string };
  await ask("POST", `/plans/${id}/approve`, {});
  await ask("POST", `/plans/${id}/run`, {});
  await (await say(runtime, "Pay")).text();
  const file = await (await runtime.ask("GET", `${AT}/export`)).text();
  const tombstone = { name: "gone", version: 1, evictedAt: "2026-01-01", reason: "idle" };
  return [
    ...linesIn(file).filter(({ type }) => type !== "end"),
    { type: "tombstone", tombstone: { ...tombstone, tool: "t", input: {}, inputDigest: "d" } },
  ];
}

/** Returns the reads of a conversation that fail. */
async function failedReads(runtime: NodeRuntime, at: string): Promise<readonly string[]> {
  const failed: string[] = [];
  const read = async (path: string): Promise<string> => {
    const response = await runtime.ask("GET", at + path);
    const body = await response.text();
    if (response.status >= 500) failed.push(path);
    return body;
  };
  const listed = async (list: string, field: string): Promise<readonly string[]> => {
    const body = JSON.parse(await read(`/${list}`)) as Record<string, Record<string, string>[]>;
    return (body[list] ?? []).map((one) => encodeURIComponent(one[field] ?? ""));
  };
  for (const path of ["", "/messages?form=reference", "/events", "/export", "/stream"]) {
    await read(path);
  }
  for (const name of await listed("variables", "name")) {
    await read(`/variables/${name}`);
    await read(`/variables/${name}/info`);
  }
  for (const id of await listed("plans", "id")) await read(`/plans/${id}`);
  for (const id of await listed("messages", "id")) await read(`/messages/${id}/receipt`);
  return failed;
}

const runtime = newRuntime();
let lines: readonly Line[] = [];

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  lines = await someLines(runtime);
});
afterAll(() => void vi.restoreAllMocks());

describe("an export with one field changed and sealed again", () => {
  it("has a line of each type without bytes of files", () => {
    const types = transferRecord.options.map(({ shape }) => shape.type.value);
    const expected = types.filter((type) => !["file", "error", "end"].includes(type));
    expect(new Set(lines.map(({ type }) => type))).toEqual(new Set(expected));
  });

  it("is refused whole, or can be read, woken and continued", async () => {
    const wrong: string[] = [];
    const seen = new Set<string>();
    for (const [index, line] of lines.entries()) {
      for (const { name, made } of mutationsOf(line)) {
        const what = `${line.type}${name}`;
        if (seen.has(what)) continue;
        seen.add(what);
        if (seen.size % sampleStep !== 0) continue;
        await (await runtime.ask("DELETE", AT)).text();
        // Mutated from a line.
        const body = await fileOf(lines.with(index, made as Line));
        const response = await runtime.ask("POST", "/conversations/import?labels=keep", { body });
        const answer = await response.text();
        if (response.status >= 500) wrong.push(`${what}: ${answer}`);
        if (response.status !== 201) {
          const left = await (await runtime.ask("GET", `${AT}/events`)).text();
          if (left !== '{"events":[]}') wrong.push(`${what}: half an import`);
          continue;
        }
        const { id } = JSON.parse(answer) as { id: string };
        const at = `/conversations/${id}`;
        runtime.kill();
        for (const path of await failedReads(runtime, at)) wrong.push(`${what}: GET ${path}`);
        const said = await runtime.ask("POST", `${at}/messages`, {
          body: '{"message":"Hi"}',
          headers: ACCEPT_JSON,
        });
        if (said.status >= 500) wrong.push(`${what}: turn ${await said.text()}`);
        if (at !== AT) await (await runtime.ask("DELETE", at)).text();
      }
    }
    expect(wrong).toEqual([]);
    expect(seen.size).toBeGreaterThan(2_000);
  });
});
