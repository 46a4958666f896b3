import { jsonSchema, type JSONSchema7, tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { Labels } from "../../src/store/labels.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import {
  NO_FLOW,
  type AnyTool,
  type CallOptions,
  type WrapOptions,
} from "../../src/tool/wrapped-tool.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import { type Json, parsedJson } from "../../src/value/json.ts";
import { slow } from "../support/slow.ts";
import { call, failureOf, run, runOnce, storeWith } from "../support/wrapped.ts";
import { saveTargetIn } from "../../src/tool/save-target.ts";

type OutputPath = NonNullable<WrapOptions["outputPath"]>;

/** A tool without rules for its input that records what it receives. */
function recording(more: object = {}) {
  const taken: unknown[] = [];
  const made = {
    inputSchema: z.any(),
    execute: (input: unknown) => void taken.push(input),
    ...more,
  };
  return { act: made as unknown as AnyTool, taken };
}

async function schemaOf(
  schema: JSONSchema7,
  { strict, ...options }: Partial<WrapOptions> & { readonly strict?: true } = {},
) {
  // A copy: shown schemas are kept by the tool's own.
  const made = { inputSchema: jsonSchema(structuredClone(schema)), execute: () => 1, strict };
  const store = new MemoryStore();
  const { shown } = await wrapTool("act", made as unknown as AnyTool, { ...options, store });
  return (shown.inputSchema as { readonly jsonSchema: JSONSchema7 }).jsonSchema;
}

const message = "act cannot be executed here: it has no execute function.";

it("a tool that cannot run here is shown as it is if the provider runs it, and its calls fail", async () => {
  const made = tool({ type: "provider", id: "x.act", args: {}, inputSchema: z.any() } as never);
  const wrapped = await wrapTool("act", made as AnyTool, { store: new MemoryStore() });
  expect([wrapped.name, wrapped.shown]).toEqual(["act", made]);
  expect(wrapped.flow({ n: "$rows" })).toBe(NO_FLOW);
  const failed = { kind: "failed", code: "unknown_tool", message };
  expect(await wrapped.prepare({}, call)).toEqual(failed);
});

it("a tool that the provider defines, and the application executes, is shown as it is, and called by reference", async () => {
  const { act, taken } = recording({ inputSchema: z.object({ command: z.string() }) });
  const provider = {
    type: "provider",
    id: "anthropic.bash_20250124",
    args: {},
    isProviderExecuted: false,
  };
  const made = { ...act, ...provider } as unknown as AnyTool;
  const store = await storeWith({ file: "a.txt" });
  const { shown } = await wrapTool("act", made, { store });
  const { inputSchema } = made;
  expect(shown).toEqual({ ...provider, inputSchema });
  await runOnce(made, { command: "cat $file" }, { store });
  expect(taken).toEqual([{ command: "cat a.txt" }]);
});

const long = `${"Lists events. ".repeat(80)}The end.`;

it.each<[string, string, string, JSONSchema7]>([
  ["at a space", long, "Lists events.", { type: "object", properties: {} }],
  ["before the schema's own", long, "Lists events.", { type: "object", description: "Own." }],
  ["anywhere in one long word", "x".repeat(3_000), "x", { type: "object" }],
  ["but not in an emoji", `x${"🙂".repeat(600)}`, "🙂", { type: "object" }],
])(
  "a description that OpenAI would refuse (sentry-mcp#106, genaiscript#1381, cherry-studio#3698) goes on in its schema, cut %s",
  async (_where, description, end, schema) => {
    const made = { description, inputSchema: jsonSchema(schema), execute: () => 1 };
    const { shown } = await wrapTool("act", made as AnyTool, { store: new MemoryStore() });
    const said = String(shown.description);
    const { description: more = "" } = (shown.inputSchema as { jsonSchema: JSONSchema7 })
      .jsonSchema;
    expect(said.length).toBeLessThanOrEqual(1_024);
    expect(said.endsWith(end)).toBe(true);
    const own = schema.description === undefined ? "" : `\n${schema.description}`;
    const whole = [`${said}${more}`, `${said} ${more}`];
    expect(whole).toContain(`${description}${own}`);
    expect([said, more].every((text) => text.isWellFormed())).toBe(true);
  },
);

describe("choices at the root of a schema (notion-mcp-server#341, claude-code#95504, gitlab-mcp#550)", () => {
  const text = { type: "string" } as const;
  const byId: JSONSchema7 = {
    type: "object",
    properties: { id: text, n: text },
    required: ["id", "n"],
  };
  const bySlug: JSONSchema7 = {
    properties: { slug: text, n: { type: "number" } },
    required: ["slug", "n"],
  };
  const loop: JSONSchema7 = { anyOf: [{ $ref: "#/$defs/loop" }], properties: { id: text } };

  it.each<[string, JSONSchema7, readonly string[], readonly string[]]>([
    ["any of", { type: "object", anyOf: [byId, bySlug] }, ["id", "n", "slug"], ["n"]],
    ["one of, without a type", { oneOf: [byId, bySlug] }, ["id", "n", "slug"], ["n"]],
    [
      "all of",
      { allOf: [byId, { required: ["x"], properties: { x: true } }] },
      ["id", "n", "x"],
      ["id", "n", "x"],
    ],
    [
      "what they require only",
      { ...byId, anyOf: [{ required: ["id"] }, { required: ["n"] }] },
      ["id", "n"],
      ["id", "n"],
    ],
    [
      "a definition",
      { anyOf: [{ $ref: "#/$defs/a" }, byId], $defs: { a: bySlug } } as JSONSchema7,
      ["slug", "n", "id"],
      ["n"],
    ],
    ["a definition that is its own", { ...loop, $defs: { loop } } as JSONSchema7, ["id"], []],
  ])("are shown as one object: %s", async (_what, schema, names, required) => {
    const flat = await schemaOf(schema);
    expect(flat).toMatchObject({ type: "object" });
    for (const keyword of ["anyOf", "oneOf", "allOf", "enum"])
      expect(flat).not.toHaveProperty(keyword);
    expect(Object.keys(flat.properties ?? {})).toEqual(names);
    expect([...(flat.required ?? [])].toSorted()).toEqual(required.toSorted());
    expect(flat.description).toMatch(/^It must also fit /u);
  });

  it("a property that they have in several forms takes each, and references", async () => {
    const { properties } = await schemaOf({ anyOf: [byId, bySlug] });
    expect(properties?.["n"]).toEqual({ anyOf: [text, { type: "number" }] });
  });

  it("are checked all the same, and only those of objects are shown", async () => {
    const inputSchema = z.union([z.object({ id: z.string() }), z.object({ slug: z.string() })]);
    const { act, taken } = recording({ inputSchema });
    await runOnce(act, { id: 1 });
    await runOnce(act, { slug: "a" });
    expect(taken).toEqual([{ slug: "a" }]);
    const mixed: JSONSchema7 = { anyOf: [byId, { type: "string" }] };
    expect(await schemaOf(mixed)).toMatchObject({ type: "object", required: byId.required });
  });
});

describe("the schema that a model is shown", () => {
  const closed: JSONSchema7 = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { a: { type: "object", properties: {}, additionalProperties: false } },
    additionalProperties: false,
  };

  it("leaves out what does not inform a model, unless the provider requires it", async () => {
    expect(await schemaOf(closed)).toEqual({
      type: "object",
      properties: { a: { anyOf: [{ type: "object", properties: {} }, { type: "string" }] } },
    });
    expect(await schemaOf(closed, { strict: true })).toEqual({
      ...closed,
      properties: { a: { anyOf: [closed.properties?.["a"], { type: "string" }] } },
    });
  });

  it("keeps what other properties may be, and accepts no references if it is not that of an object", async () => {
    const open = { type: "object", properties: {} } as const;
    for (const schema of [
      { ...open, additionalProperties: true },
      { ...open, additionalProperties: { type: "string" } },
      { type: "array", items: { type: "number" } },
    ] as const)
      expect(await schemaOf(schema)).toEqual(schema);
  });
});

const savedWith = async (outputPath: OutputPath, input: Json) => {
  const { act } = recording({ inputSchema: z.object({}) });
  const { store, run: ran } = await runOnce(act, input, { outputPath });
  return failureOf(ran)?.code ?? store.list().map(({ name }) => name);
};

it("the place of a result is the application's", async () => {
  expect(await savedWith({ act: "$place" }, {})).toEqual(["place"]);
  expect(await savedWith({ other: "$place" }, {})).toEqual(["act_1"]);
});

describe("the references of an input", () => {
  const inputWith = async (
    options: Partial<WrapOptions>,
    input: Json,
    store = new MemoryStore(),
  ) => {
    const { act, taken } = recording();
    const { run: ran } = await runOnce(act, input, { ...options, store });
    return failureOf(ran) ?? taken[0];
  };

  it("to unknown names are text, or an error if the agent says so", async () => {
    const stored = await storeWith({ rows: 1 });
    expect(await inputWith({}, { n: "$row" }, stored)).toEqual({ n: "$row" });
    expect(await inputWith({ unknown: "error" }, { n: "$row" }, stored)).toMatchObject({
      code: "variable_not_found",
    });
  });

  it("to secrets are passed to tools that list them", async () => {
    const store = new MemoryStore();
    await store.save({ name: "key", value: "s3cret", visibility: "secret" });
    const listing = (secrets: readonly string[]) => ({ policies: { act: { secrets } } });
    expect(await inputWith(listing(["key"]), { k: "$key" }, store)).toEqual({ k: "s3cret" });
    for (const options of [{}, listing([]), listing(["other"]), { policies: { other: {} } }]) {
      expect(await inputWith(options, { k: "$key" }, store)).toMatchObject({
        code: "variable_secret",
      });
    }
  });

  it("do not name keys of untrusted values that are hidden", async () => {
    const messageWith = async (options: Partial<WrapOptions>) => {
      const store = new MemoryStore();
      await store.save({ name: "page", value: { obey: 1 }, trusted: false });
      const found = await inputWith(options, { n: "$page.obeys" }, store);
      return (found as { readonly message: string }).message;
    };
    expect(await messageWith({})).toContain("obey");
    expect(await messageWith({ untrusted: "hide" })).not.toMatch(/obey(?!s)/u);
  });
});

it.each([{}, { policies: { act: { declassifies: true } } }])(
  "an input with guarded values that does not fit fails with its code, %j",
  async (options) => {
    const { act } = recording({ inputSchema: z.object({ n: z.number() }) });
    const store = new MemoryStore();
    await store.save({ name: "seal", value: "Rome", visibility: "sealed" });
    const wrapped = await wrapTool("act", act, { store, ...options });
    expect(await wrapped.prepare({ n: "$seal" }, call)).toEqual({
      kind: "failed",
      code: "invalid_tool_input",
      message: "act failed; details are withheld, because its input is sealed.",
    });
  },
);

it("a call from code has values, in which nothing is a reference", async () => {
  const { act, taken } = recording();
  const store = await storeWith({ n: 7 });
  const wrapped = await wrapTool("act", act, { store });
  await run(wrapped, { a: "$n" }, { ...call, madeOf: new Labels(store, undefined) });
  expect(taken).toEqual([{ a: "$n" }]);
});

it("whole references count towards the size limit of an input", slow, async () => {
  const store = await storeWith({ big: "x".repeat(limits.maxInsertedChars / 2) });
  let runs = 0;
  const act = tool({ inputSchema: z.array(z.string()), execute: () => ++runs });
  const at = await runOnce(act, ["$big", "$big"], { store });
  expect([at.run.kind, runs]).toEqual(["done", 1]);
  const above = await runOnce(act, ["$big", "$big", "$big[0:1]", "$big"], { store });
  expect(failureOf(above.run)).toMatchObject({ code: "limit_exceeded" });
  expect(runs).toBe(1);
});

describe("a number that a double does not give back", () => {
  const DIGITS = "1234567890123456789";
  const store = () => storeWith({ rows: parsedJson(`[{"id":${DIGITS}}]`) });

  it("is a text where the schema takes one, else an error", async () => {
    const { act, taken } = recording({
      inputSchema: z.object({ id: z.union([z.string(), z.number()]) }),
    });
    await runOnce(act, { id: "$rows[0].id" }, { store: await store() });
    expect(taken).toEqual([{ id: DIGITS }]);
    const { act: strict } = recording({
      inputSchema: z.object({ rows: z.array(z.object({ id: z.number() })) }),
    });
    const { run } = await runOnce(strict, { rows: "$rows" }, { store: await store() });
    expect(failureOf(run)?.code).toBe("number_not_exact");
    expect(failureOf(run)?.message).toContain(`rows.0.id is ${DIGITS}`);
  });

  it.each([
    ["text", DIGITS],
    ["bigint", 1234567890123456789n],
  ] as const)("is what the tool's policy says: %s", async (numbers, expected) => {
    const { act, taken } = recording({ inputSchema: z.object({ id: z.any() }) });
    const policies = { act: { numbers } };
    await runOnce(act, { id: "$rows[0].id" }, { store: await store(), policies });
    expect(taken).toEqual([{ id: expected }]);
  });
});

describe("the input of a tool", () => {
  const spoil = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const inner of Object.values(value)) spoil(inner);
    Object.assign(value, { spoilt: true });
  };
  const loose = jsonSchema<unknown>({ type: "object" });
  const schemas: readonly (readonly [string, AnyTool["inputSchema"]])[] = [
    ["a schema that copies", z.looseObject({ rows: z.any() })],
    ["one that does not", z.any()],
    ["one without a validator", loose],
  ];

  it.each(schemas)("may be changed by its tool without effects: %s", async (_, inputSchema) => {
    const store = await storeWith({ rows: [{ id: 1, tags: ["a"] }] });
    const input = { rows: "$rows", own: { list: [1] } };
    const act = { inputSchema, execute: spoil } as unknown as AnyTool;
    const { run } = await runOnce(act, input, { store });
    expect(run.kind).toBe("done");
    expect(await store.read("rows")).toEqual([{ id: 1, tags: ["a"] }]);
    expect(input).toEqual({ rows: "$rows", own: { list: [1] } });
    expect(store.info("act_1")?.input).toEqual(input);
  });

  it("is the stored value itself, frozen, for a tool that promises only to read", async () => {
    const store = await storeWith({ rows: [{ id: 1 }] });
    const taken: { rows: unknown }[] = [];
    const act = { inputSchema: loose, execute: (input: { rows: unknown }) => taken.push(input) };
    await runOnce(act as unknown as AnyTool, { rows: "$rows" }, { store, readonlyTools: ["act"] });
    expect(taken[0]?.rows).toBe(await store.read("rows"));
    expect(Object.isFrozen(taken[0]?.rows)).toBe(true);
    await runOnce(
      act as unknown as AnyTool,
      { rows: "$rows" },
      { store, readonlyTools: ["other"] },
    );
    expect(taken[1]).toEqual(taken[0]);
    expect(taken[1]?.rows).not.toBe(await store.read("rows"));
  });
});

it("a tool as the model sees it has a schema that accepts references, without a validator, and no execute", async () => {
  const schema = z.object({ n: z.number() });
  const act = tool({
    description: "Acts.",
    title: "Act",
    inputSchema: schema,
    execute: ({ n }) => n,
    toModelOutput: () => ({ type: "text", value: "leak" }),
  });
  const { name, shown } = await wrapTool("act", act, { store: new MemoryStore() });
  expect(name).toBe("act");
  expect(shown).toMatchObject({
    description: "Acts.",
    title: "Act",
    inputSchema: {
      jsonSchema: { properties: { n: { anyOf: [{ type: "number" }, { type: "string" }] } } },
    },
  });
  expect(Object.keys(shown)).not.toContain("execute");
  expect(Object.keys(shown)).not.toContain("toModelOutput");
  expect((shown.inputSchema as { validate?: unknown }).validate).toBeUndefined();
  expect(schema.safeParse({ n: "$x" }).success).toBe(false);
});

it("a call that takes too long times out, and the tool is aborted", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let seen: AbortSignal | undefined;
  const act = tool({
    inputSchema: z.any(),
    execute: (_: unknown, { abortSignal }) => {
      seen = abortSignal;
      return new Promise(() => undefined);
    },
  });
  const running = runOnce(act as AnyTool, {}, { toolMs: 50 });
  await until(() => seen !== undefined);
  await vi.advanceTimersByTimeAsync(49);
  expect(seen?.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  const { run, store } = await running;
  const message = "act did not finish within 50 ms. Ask for less.";
  expect(run).toEqual({ kind: "failed", code: "tool_timeout", message });
  expect([seen?.aborted, store.count()]).toEqual([true, 0]);
});

/** Waits in real time (only timeouts are faked), because the digest of an input is computed asynchronously. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

function acting(execute: (input: never, options: never) => unknown, more: object = {}): AnyTool {
  return { inputSchema: z.any(), execute, ...more } as unknown as AnyTool;
}

async function runWith(act: AnyTool, options: Partial<CallOptions> = {}) {
  const store = new MemoryStore();
  const ran = await run(await wrapTool("act", act, { store }), { n: 1 }, { ...call, ...options });
  if (ran.kind === "done") await ran.save();
  return { ran, store };
}

it("a tool that yields several results has the last one, and is closed when the call is stopped", async () => {
  const controller = new AbortController();
  const closed = Promise.withResolvers<void>();
  const more = Promise.withResolvers<void>();
  const act = acting(async function* () {
    try {
      controller.abort();
      await more.promise;
      yield 1;
      yield 2;
    } finally {
      closed.resolve();
    }
  });
  const twice = acting(async function* () {
    yield 1;
    yield 2;
  });
  expect(await (await runOnce(twice, {})).store.read("act_1")).toBe(2);
  const { ran } = await runWith(act, { signal: controller.signal });
  expect(failureOf(ran)).toMatchObject({ code: "tool_failed", message: "act was stopped." });
  more.resolve();
  await closed.promise;
});

it("a call that was stopped before it runs does not run its tool", async () => {
  let runs = 0;
  const { ran } = await runWith(
    acting(() => ++runs),
    { signal: AbortSignal.abort() },
  );
  expect([failureOf(ran)?.message, runs]).toEqual(["act was stopped.", 0]);
});

const seenBy = async (options: Partial<CallOptions>) => {
  const seen: Record<string, unknown>[] = [];
  await runWith(
    acting((_, given) => void seen.push({ ...(given as object) })),
    options,
  );
  return seen[0];
};

it("the options of a tool are the SDK's", async () => {
  const extras = { experimental_context: { user: 7 } };
  expect(await seenBy({ idempotencyKey: "k", extras })).toEqual({
    toolCallId: "call_1",
    abortSignal: expect.any(AbortSignal),
    messages: [],
    idempotencyKey: "k",
    ...extras,
  });
  expect(await seenBy({})).not.toHaveProperty("idempotencyKey");
});

it("a tool that is notified of its input receives it before it runs, once it is validated", async () => {
  const order: unknown[] = [];
  const onInputAvailable = (given: { input: unknown; toolCallId: string }) =>
    void order.push([given.input, given.toolCallId]);
  await runWith(acting(() => void order.push("runs"), { onInputAvailable }));
  expect(order).toEqual([[{ n: 1 }, "call_1"], "runs"]);
});

describe("the place that a tool chooses", () => {
  const choosing = (result: unknown, saveTo: string) =>
    runWith(
      acting(() => result),
      { saveTo: saveTargetIn(saveTo) },
    );

  it.each([
    [{ _outputPath: "$b", value: 1, more: 2 }],
    [{ _outputPath: 5, value: 1 }],
    [{ _outputPath: "$b", values: 1 }],
  ])("is no choice in another result: %j", async (result) => {
    const { store } = await choosing(result, "$a || $b");
    expect(await store.read("a")).toEqual(result);
  });

  it("is not its own if the input is guarded", async () => {
    const store = new MemoryStore();
    await store.save({ name: "seal", value: 1, visibility: "sealed" });
    const act = tool({ inputSchema: z.any(), execute: () => ({ _outputPath: "$b", value: 1 }) });
    const options = { ...call, saveTo: saveTargetIn("$a || $b") };
    const ran = await run(await wrapTool("act", act, { store }), { n: "$seal" }, options);
    if (ran.kind === "done") await ran.save();
    expect(await store.read("a")).toBe(1);
    expect(store.info("b")).toBeUndefined();
  });
});
