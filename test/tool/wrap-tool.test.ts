import { jsonSchema, tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import * as limits from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { parsedJson } from "../../src/value/json.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import type { AnyTool } from "../../src/tool/wrapped-tool.ts";
import { failureOf, runOnce, storeWith } from "../support/wrapped.ts";

/** Creates a tool that records its inputs. */
function taking<Input>(inputSchema: z.ZodType<Input>) {
  const taken: Input[] = [];
  const act = tool({ inputSchema, execute: (input) => void taken.push(input as Input) });
  return { act: act as AnyTool, taken };
}

afterEach(() => {
  vi.useRealTimers();
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
    inputSchema: { jsonSchema: { properties: { n: { type: ["number", "string"] } } } },
  });
  expect(Object.keys(shown)).not.toContain("execute");
  expect(Object.keys(shown)).not.toContain("toModelOutput");
  expect((shown.inputSchema as { validate?: unknown }).validate).toBeUndefined();
  expect(schema.safeParse({ n: "$x" }).success).toBe(false);
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
});

/** Waits in real time (only timeouts are faked), because the digest of an input is computed asynchronously. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
