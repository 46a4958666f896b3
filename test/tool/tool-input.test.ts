import { jsonSchema, type ToolSet, dynamicTool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  checkInput,
  issuesOf,
  jsonSchemaOf,
  misfitHint,
  digestOf,
} from "../../src/tool/tool-input.ts";
import type { AnyTool } from "../../src/tool/wrapped-tool.ts";
import { deepFreeze, type Json } from "../../src/value/json.ts";
import { Conversation } from "../support/turn.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { createHash } from "node:crypto";
import { wrapTools } from "../../src/tool/tool-call.ts";

type Schema = AnyTool["inputSchema"];
type Options = Parameters<typeof checkInput>[2];

const plain: Options = { unresolved: [], readonly: false };
const check = (inputSchema: Schema, input: Json, options: Partial<Options> = {}) =>
  checkInput({ inputSchema }, input, { ...plain, ...options });

/** A schema that refuses every input with this error. */
const refusing = (error: unknown): Schema =>
  jsonSchema({}, { validate: () => ({ success: false, error: error as Error }) });

async function messageOf(inputSchema: Schema, options: Partial<Options> = {}): Promise<string> {
  const error: unknown = await check(inputSchema, {}, options).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "invalid_tool_input" });
  return (error as Error).message;
}

it("an input that does not fit is refused with what else may help", async () => {
  const unresolved = [
    { reference: "$x", code: "variable_not_found" as const, message: "$x is not a variable." },
    { reference: "$y", code: "path_not_found" as const },
  ];
  const issue = { path: [], message: "No" };
  const message = await messageOf(refusing([issue]), { unresolved });
  expect(message).toBe("The input does not fit the tool: No. $x is not a variable. ");
  const error: unknown = await check(refusing([issue]), {}, { unresolved }).catch(
    (e: unknown) => e,
  );
  expect(error).toMatchObject({ details: { unresolved } });
});

it.each<[string, unknown, string]>([
  ["a list of issues", [{ path: ["a", 0], message: "No" }], "a.0: No."],
  ["an error with issues", { issues: [{ path: [], message: "No" }] }, "No."],
  ["an error whose cause has issues", { cause: { issues: [{ message: "No" }] } }, "No."],
  ["keys of Standard Schema", [{ path: [{ key: "a" }, "b"], message: "No" }], "a.b: No."],
  ["issues without a message", [{ path: ["a"] }, null, { message: 5 }], "its schema refuses it."],
  ["an error without issues", new Error("my value"), "its schema refuses it."],
  ["no error", undefined, "its schema refuses it."],
])("an input that does not fit is refused by any validator: %s", async (_, error, said) => {
  expect(await messageOf(refusing(error))).toBe(`The input does not fit the tool: ${said}`);
});

it("an input that does not fit is refused with ten issues of limited length", () => {
  const issues = Array.from({ length: 12 }, (_, at) => ({
    path: [at],
    message: "m".repeat(201),
  }));
  const listed = issuesOf(issues);
  expect(listed).toHaveLength(10);
  expect(listed.at(-1)).toEqual({ path: ["9"], message: "m".repeat(200) });
});

describe("an input that fits", () => {
  const frozen = deepFreeze<Json>({ list: [{ a: 1 }], text: "t" });

  it("is copied inside of what the schema has made", async () => {
    const shared = (frozen as { list: Json }).list;
    const schema = z.looseObject({ own: z.array(z.any()) });
    const checked = (await check(schema, { own: [shared], more: shared })) as {
      own: object[];
      more: object;
    };
    expect(checked).toEqual({ own: [shared], more: shared });
    expect([Object.isFrozen(checked.own[0]), Object.isFrozen(checked.more)]).toEqual([
      false,
      false,
    ]);
  });

  it("keeps what is no plain object", async () => {
    const date = Object.freeze(new Date(0));
    const map = new Map([["a", frozen]]);
    const schema = z.any().transform(() => ({ date, map, none: null }));
    const checked = (await check(schema, {})) as { date: Date; map: unknown };
    expect(checked.date).toBe(date);
    expect(checked.map).toBe(map);
    expect(map.get("a")).toBe(frozen);
  });

  it("may have a key __proto__", async () => {
    const input = deepFreeze(JSON.parse('{"a":{"__proto__":{"b":1}}}') as Json);
    const checked = await check(jsonSchema({}), input);
    expect(JSON.stringify(checked)).toBe('{"a":{"__proto__":{"b":1}}}');
  });
});

const dated = z.object({ id: z.string(), since: z.date(), until: z.date().optional() });

it.each([
  ["a map", z.map(z.string(), z.string())],
  ["a schema that throws", jsonSchema(() => Promise.reject(new Error("Not today.")))],
])("a tool without JSON Schema is named without properties: %s", async (_, inputSchema) => {
  const asking = jsonSchemaOf({ inputSchema: inputSchema as ToolSet[string]["inputSchema"] }, "t");
  await expect(asking).rejects.toMatchObject({
    code: "bad_configuration",
    message: expect.stringMatching(/^The inputSchema of the tool t has no JSON Schema: ./),
  });
});

it("a tool whose schema has no JSON Schema ends the turn with its own error code", async () => {
  const tools = { list_orders: { description: "", inputSchema: dated, execute: () => 1 } };
  const { result } = await new Conversation({ tools }).say({ steps: [] });
  expect(result.error).toMatchObject({
    code: "bad_configuration",
    message: expect.stringContaining("list_orders"),
  });
});

const orders = [{ id: "a", total: 1 }];

it.each<[string, Parameters<MemoryStore["save"]>[0], string]>([
  ["shown", { value: orders }, " $orders is {id: string, total: number}[]."],
  ["sealed", { value: orders, visibility: "sealed" }, ""],
  ["secret", { value: orders, visibility: "secret" }, ""],
  ["untrusted", { value: orders, trusted: false }, ""],
])(
  "an input that does not fit is refused with the shape of %s values: %j",
  async (_, own, hint) => {
    const store = new MemoryStore();
    await store.save({ ...own, name: "orders" });
    const misfit = { written: { ids: "$orders" }, value: { ids: orders }, unresolved: [] };
    expect(misfitHint(misfit, { store })).toBe(hint);
  },
);

const sha = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32);

const large = (last: string): readonly (readonly [string, Json])[] => [
  ["records", [...Array.from({ length: 5_000 }, (_, id) => ({ id, text: "row" })), last]],
  ["a text", "€\n".repeat(100_000) + last],
  ["an object", { a: ["x".repeat(200_000)], b: { c: "y".repeat(200_000), last } }],
  ["nested single elements", [[["z".repeat(100_000) + last]]]],
];

describe("the digest of an input", () => {
  it("equals that of its JSON with sorted keys if it is small", async () => {
    expect(await digestOf({ b: [1, "€"], a: null })).toBe(sha('{"a":null,"b":[1,"€"]}'));
    expect(await digestOf({ a: null, b: [1, "€"] })).toBe(sha('{"a":null,"b":[1,"€"]}'));
  });

  it("differs for large inputs that differ only in the last character", async () => {
    for (const [index, [, value]] of large("a").entries()) {
      expect(await digestOf(value)).toBe(await digestOf(structuredClone(value)));
      expect(await digestOf(value)).not.toBe(await digestOf(large("b")[index]?.[1] ?? null));
    }
  });

  it("differs for a large text and a list of its parts, and for different bytes", async () => {
    const text = "x".repeat(100_000);
    const parts = [text.slice(0, 50_000), text.slice(50_000)];
    const bytes = (length: number) => new Uint8Array(length).fill(7) as unknown as Json;
    const inputs = [text, parts, [parts], { parts }, [...parts, ""], bytes(10), [bytes(10)]];
    const more = [[bytes(11)], [bytes(100_000)], [bytes(100_001)]];
    const digests = [...inputs, ...more].map((one) => digestOf(one));
    expect(new Set(await Promise.all(digests)).size).toBe(10);
  });
});

describe("the digests of bytes and of what could be taken for them", () => {
  const bytes = (...values: readonly number[]) => new Uint8Array(values) as unknown as Json;
  const long = "x".repeat(70_000);

  it.each([
    ["an object of their indexes", bytes(104, 105), { 0: 104, 1: 105 }],
    ["one in another place", [{ 0: 1 }, bytes(1)], [bytes(1), { 0: 1 }]],
    ["one under another key", { a: { 0: 1 }, b: bytes(1) }, { a: bytes(1), b: { 0: 1 } }],
    ["no bytes and an empty object", bytes(), {}],
    ["a text that looks as they are written", [bytes(104)], ["\0aA=="]],
    ["a text that begins with one more", ["\0\0aA=="], ["\0aA=="]],
    ["one in a large input", [long, bytes(104)], [long, { 0: 104 }]],
  ])("differ for %s", async (_, one, other) => {
    expect(await digestOf(one)).not.toBe(await digestOf(other));
  });

  it("do not depend on the order of keys", async () => {
    const one = { a: bytes(1), b: bytes(2), c: 1 };
    expect(await digestOf({ c: 1, b: bytes(2), a: bytes(1) })).toBe(await digestOf(one));
  });
});

/** Prepares a call of a tool with this schema. Returns "ready" or the error. */
async function outcomeOf(
  inputSchema: ToolSet[string]["inputSchema"],
  input: Json,
): Promise<string> {
  const execute = (given: unknown) => JSON.stringify(given);
  const tools: ToolSet = { one: dynamicTool({ inputSchema, execute }) };
  const wrapped = await wrapTools(tools, { store: new MemoryStore(), outputPath: true });
  const { signal } = new AbortController();
  const call = { toolCallId: "1", messages: [], signal };
  const prepared = await wrapped.get("one")?.prepare(input, call);
  return prepared?.kind === "failed" ? `${prepared.code}: ${prepared.message}` : "ready";
}

const declared = jsonSchema({ type: "object", properties: { city: {}, _own: {} } });

it.each([
  ["_outputpath", " The nearest is _outputPath."],
  ["_output", " The nearest is _outputPath."],
  ["_descripton", " The nearest is _description."],
  ["_city", " The nearest is city."],
  ["_zzzzzzzzzzzz", ""],
])("an undeclared parameter with _ is refused with the nearest one: %s", async (key, nearest) => {
  const message = `invalid_tool_input: The tool has no parameter ${key}.${nearest}`;
  expect(await outcomeOf(declared, { city: "Rome", [key]: "x" })).toBe(message);
  const strict = z.object({ city: z.string() });
  expect(await outcomeOf(strict, { city: "Rome", [key]: "x" })).toBe(message);
});

it("a parameter that begins with _ is truncated in the message if it is long", async () => {
  const message = await outcomeOf(declared, { [`_${"x".repeat(65_536)}`]: 1 });
  expect(message.length).toBeLessThan(200);
});
