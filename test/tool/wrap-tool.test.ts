import { dynamicTool, jsonSchema, tool, type ToolSet } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import * as limits from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { parsedJson } from "../../src/value/json.ts";
import { wrapTool, wrapTools } from "../../src/tool/wrap-tool.ts";
import type { AnyTool, WrapOptions } from "../../src/tool/wrapped-tool.ts";
import { call, failureOf, run, runOnce, storeWith } from "../support/wrapped.ts";

/** Creates a tool that records its inputs. */
function taking<Input>(inputSchema: z.ZodType<Input>) {
  const taken: Input[] = [];
  const act = tool({ inputSchema, execute: (input) => void taken.push(input as Input) });
  return { act: act as AnyTool, taken };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("the tool's own schema", () => {
  it("validates resolved references, and passes its output to the tool", async () => {
    const { act, taken } = taking(
      z.object({
        n: z.number(),
        count: z.coerce.number(),
        words: z.string().transform((text) => text.split(" ")),
        sort: z.enum(["up", "down"]).default("up"),
      }),
    );
    const store = await storeWith({ n: 7, count: "12", title: "two words", sort: "down" });
    const input = { n: "$n", count: "$count", words: "$title" };
    await runOnce(act, input, { store });
    await runOnce(act, { ...input, sort: "$sort" }, { store });
    const expected = { n: 7, count: 12, words: ["two", "words"] };
    expect(taken).toEqual([
      { ...expected, sort: "up" },
      { ...expected, sort: "down" },
    ]);
  });

  it("strips unknown properties, and refuses invalid ones", async () => {
    const { act, taken } = taking(z.object({ n: z.number() }));
    await runOnce(act, { n: 1, more: 2 });
    expect(taken).toEqual([{ n: 1 }]);
    const { run, store } = await runOnce(
      act,
      { n: "$city" },
      { store: await storeWith({ city: "Rome" }) },
    );
    expect(failureOf(run)?.code).toBe("invalid_tool_input");
    expect(failureOf(run)?.message).toContain("expected number, received string");
    expect([taken.length, store.count()]).toEqual([1, 1]);
  });

  it("fails with the unresolved references, each with similar names", async () => {
    const { act } = taking(z.object({ n: z.number(), other: z.number().optional() }));
    const store = await storeWith({ weather_nyc: 1, rows: 2 });
    const { run } = await runOnce(act, { n: "$wether_nyc", other: "$zzz" }, { store });
    const { code, message = "" } = failureOf(run) ?? {};
    expect(code).toBe("invalid_tool_input");
    expect(message).toContain("$wether_nyc is not a variable. Did you mean weather_nyc?");
    expect(message).toContain("$zzz is not a variable.");
    expect(message).not.toContain("rows");
  });

  it("may have no validator, in which case the resolved input is passed on", async () => {
    const taken: unknown[] = [];
    const inputSchema = jsonSchema<{ n: unknown }>({ type: "object", properties: { n: {} } });
    const execute = (input: unknown) => void taken.push(input);
    const store = await storeWith({ rows: [{ id: 1 }] });
    await runOnce(tool({ inputSchema, execute }), { n: "$rows[0]" }, { store });
    await runOnce(dynamicTool({ inputSchema, execute }), { n: "$rows" }, { store });
    expect(taken).toEqual([{ n: { id: 1 } }, { n: [{ id: 1 }] }]);
  });
});

describe("a number that a double does not give back", () => {
  const DIGITS = "1234567890123456789";
  const store = () => storeWith({ rows: parsedJson(`[{"id":${DIGITS}}]`) });

  it("is a text where the schema takes one, else an error", async () => {
    const { act, taken } = taking(z.object({ id: z.union([z.string(), z.number()]) }));
    await runOnce(act, { id: "$rows[0].id" }, { store: await store() });
    expect(taken).toEqual([{ id: DIGITS }]);
    const { act: strict } = taking(z.object({ rows: z.array(z.object({ id: z.number() })) }));
    const { run } = await runOnce(strict, { rows: "$rows" }, { store: await store() });
    expect(failureOf(run)?.code).toBe("number_not_exact");
    expect(failureOf(run)?.message).toContain(`rows.0.id is ${DIGITS}`);
  });

  it.each([
    ["text", DIGITS],
    ["bigint", 1234567890123456789n],
  ] as const)("is what the tool's policy says: %s", async (numbers, expected) => {
    const { act, taken } = taking(z.object({ id: z.any() }));
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

  it.each(schemas)(
    "may be changed by the tool without side effects: %s",
    async (_, inputSchema) => {
      const store = await storeWith({ rows: [{ id: 1, tags: ["a"] }] });
      const input = { rows: "$rows", own: { list: [1] } };
      const act = { inputSchema, execute: spoil } as unknown as AnyTool;
      const { run } = await runOnce(act, input, { store });
      expect(run.kind).toBe("done");
      expect(await store.read("rows")).toEqual([{ id: 1, tags: ["a"] }]);
      expect(input).toEqual({ rows: "$rows", own: { list: [1] } });
      expect(store.info("act_1")?.input).toEqual(input);
    },
  );

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

  it("is reported with counts of reference and value characters", async () => {
    const { act } = taking(z.any());
    const store = await storeWith({ rows: [1, 22], city: "Rome" });
    const { run } = await runOnce(act, { a: "$rows", b: "to $city, $rows[1]" }, { store });
    expect(run).toMatchObject({
      references: { authoredChars: 5 + 5 + 8, resolvedChars: 6 + 4 + 2 },
    });
  });
});

describe("a tool as the model sees it", () => {
  it("has a schema that accepts references, without a validator, and no execute", async () => {
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
      inputSchema: { jsonSchema: { properties: { n: { type: ["number", "string"] } } } },
    });
    expect(Object.keys(shown)).not.toContain("execute");
    expect(Object.keys(shown)).not.toContain("toModelOutput");
    expect((shown.inputSchema as { validate?: unknown }).validate).toBeUndefined();
    expect(schema.safeParse({ n: "$x" }).success).toBe(false);
  });

  it("has a schema that is made once for each way to show it", async () => {
    const act = tool({ inputSchema: z.object({ n: z.email() }), execute: () => 1 }) as AnyTool;
    const store = new MemoryStore();
    const schemaWith = async (options: Partial<WrapOptions>, strict?: true) => {
      const given = strict === undefined ? act : { ...act, strict };
      const { shown } = await wrapTool("act", given as AnyTool, { store, ...options });
      return (shown.inputSchema as { jsonSchema: { properties: object } }).jsonSchema;
    };
    const ways = [
      () => schemaWith({}),
      () => schemaWith({ outputPath: true }),
      () => schemaWith({ syntaxes: ["dagger"] }),
      () => schemaWith({ outputPath: true }, true),
      () => schemaWith({}, true),
    ];
    const made: string[] = [];
    for (const way of ways) {
      const schema = await way();
      expect(await way()).toBe(schema);
      made.push(JSON.stringify(schema));
    }
    expect(new Set(made).size).toBe(ways.length);
    const other = tool({ inputSchema: z.object({ m: z.number() }), execute: () => 1 });
    const { shown } = await wrapTool("act", other as AnyTool, { store });
    expect(shown.inputSchema).toMatchObject({ jsonSchema: { properties: { m: {} } } });
  });

  it("is unchanged if the provider runs it, and stays dynamic if it is", async () => {
    const search = tool({
      type: "provider",
      id: "x.search",
      isProviderExecuted: true,
      args: {},
      inputSchema: z.object({ query: z.int() }),
      outputSchema: z.string(),
    });
    const told = dynamicTool({ inputSchema: z.object({ n: z.int() }), execute: () => 1 });
    const tools: ToolSet = { search, told };
    const wrapped = await wrapTools(tools, { store: new MemoryStore() });
    expect([...wrapped.keys()]).toEqual(["search", "told"]);
    expect(wrapped.get("search")?.shown).toBe(search);
    expect(wrapped.get("told")?.shown.type).toBe("dynamic");
  });
});

describe("a call", () => {
  it("that takes too long times out, and the tool is aborted", async () => {
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

  it("has 60 seconds by default, including its yields", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let hasBegun = false;
    async function* execute() {
      hasBegun = true;
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 7_000));
        yield 1;
      }
    }
    const running = runOnce(tool({ inputSchema: z.any(), execute }) as AnyTool, {});
    await until(() => hasBegun);
    await vi.advanceTimersByTimeAsync(limits.toolMs);
    expect(failureOf((await running).run)?.code).toBe("tool_timeout");
  });

  it("leaves no timer behind", async () => {
    vi.useFakeTimers();
    await runOnce(tool({ inputSchema: z.any(), execute: () => 1 }), {});
    const fail = () => Promise.reject(new Error("No."));
    await runOnce({ inputSchema: z.any(), execute: fail } as AnyTool, {});
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that is stopped is not waited for", async () => {
    const controller = new AbortController();
    let seen: AbortSignal | undefined;
    const act: AnyTool = tool({
      inputSchema: z.object({}),
      execute: (_, { abortSignal }) => {
        seen = abortSignal;
        queueMicrotask(() => controller.abort());
        return new Promise<string>(() => undefined);
      },
    });
    const wrapped = await wrapTool("act", act, { store: new MemoryStore() });
    const stopped = await run(wrapped, {}, { ...call, signal: controller.signal });
    expect(stopped).toEqual({ kind: "failed", code: "tool_failed", message: "act was stopped." });
    expect(seen?.aborted).toBe(true);
  });

  it("that fails keeps only our own error codes", async () => {
    const thrown = (error: unknown) => () => {
      throw error;
    };
    const codes = [];
    for (const code of ["limit_exceeded", "EACCES", 7, undefined]) {
      const error = Object.assign(new Error("No."), { code });
      const { run } = await runOnce(
        { inputSchema: z.any(), execute: thrown(error) } as AnyTool,
        {},
      );
      codes.push(failureOf(run)?.code);
    }
    expect(codes).toEqual(["limit_exceeded", "tool_failed", "tool_failed", "tool_failed"]);
  });
});

/** Waits in real time (only timeouts are faked), because the digest of an input is computed asynchronously. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
