import { jsonSchema, tool } from "ai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ByrefError, codeOf } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { Expander } from "../../src/reference/expand.ts";
import { LookupWork } from "../../src/reference/lookup.ts";
import { interpolate } from "../../src/reference/resolve.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { RuntimeTool } from "../../src/tool/runtime-tool.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { readVariable } from "../../src/tool/variables/read-variable.ts";
import { searchVariable } from "../../src/tool/variables/search-variable.ts";
import type { SandboxJob } from "../../packages/code/src/sandbox.ts";
import { wrapRuntimeTool, wrapTool } from "../../src/tool/tool-call.ts";
import { parsePath } from "../../src/reference/grammar.ts";
import type { Json } from "../../src/value/json.ts";
import { closeAll, migratedSql, type WatchedSql } from "../store/watched-sql.ts";
import { type DoneWork, workOf } from "../support/count-work.ts";
import { listOf as list, MAX_INPUT_CHARS } from "../support/long-inputs.ts";
import { recordingTool, runCode } from "../support/run-code.ts";
import { scriptedSandbox } from "../support/scripted-sandbox.ts";
import { call } from "../support/wrapped.ts";

/**
 * Bounds of the work for any input. A value that is being read when the budget ends is read to its end. Read
 * values are parsed once. Values in an input are serialized in parts, for its digest and for a message.
 */
const bounds: DoneWork = {
  read: limits.maxReadWork + limits.maxJsonBytes,
  parsed: limits.maxReadWork + limits.maxJsonBytes,
  serialized: limits.maxReadWork + limits.maxStepInputChars,
  visited: 2 * limits.maxReadWork,
  written: 2 * limits.maxJsonBytes,
};

let sql: WatchedSql;
let store: SqlStore;

/** Saves values of the maximum size, in every expensive shape. */
beforeAll(async () => {
  sql = migratedSql();
  store = new SqlStore(sql);
  const keys = Array.from({ length: 200_000 }, (_, n) => [`key_${n}`, n] as const);
  await store.save({ name: "keys", value: Object.fromEntries(keys) });
  for (const name of ["a", "b", "c"]) {
    await store.save({ name, value: { x: name.repeat(15_000_000), y: 1 } });
  }
  const rows = Array.from({ length: 120_000 }, (_, id) => ({
    id,
    s: "x".repeat(90),
    t: [id, [id]],
  }));
  await store.save({ name: "rows", value: rows });
  await store.save({ name: "ones", value: Array.from({ length: 7_000_000 }, () => 1) });
  await store.save({ name: "text", value: "é€x ".repeat(3_000_000) });
  const wide = Array.from({ length: 100 }, (_, n) =>
    Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${n}_${at}`, at])),
  );
  await store.save({ name: "wide", value: wide });
  for (let n = 0; n < 1_200; n++) {
    const input = { written: "i".repeat(4_000) };
    await store.save({
      name: `${"n".repeat(40)}_${n}_${"m".repeat(15)}`,
      value: n,
      tool: "t",
      input,
    });
  }
});

afterAll(closeAll);

/** Joins as many texts as fit into an input. */
const filled = (write: (n: number) => string, between = " ") => {
  const texts: string[] = [];
  for (let chars = 0, n = 0; ; n++) {
    const text = write(n);
    chars += text.length + between.length;
    if (chars > MAX_INPUT_CHARS - 1_000) return texts.join(between);
    texts.push(text);
  }
};

const interpolated = (text: string) => interpolate(text, lookupInStore(store));
const answered = async (text: string) => {
  const expander = new Expander(lookupInStore(store), {
    couldBegin: (prefix) => store.couldBegin(prefix),
    isKnown: (name) => store.glance(name) !== undefined,
  });
  await expander.write(text, () => undefined);
  await expander.flush(() => undefined);
};
const echo = tool({ inputSchema: jsonSchema<Json>({ type: "object" }), execute: async () => "ok" });
/** Prepares the calls of one step like `ToolCalls`. With the policy "ask", they need approval. */
const calledWith = async (inputs: readonly Json[], policy: "allow" | "ask" = "allow") => {
  const policies = { policy: () => (policy === "allow" ? policy : { ask: "sure?" }) } as const;
  const wrapped = await wrapTool("echo", echo, { store, readonlyTools: ["echo"], ...policies });
  const work = new LookupWork();
  for (const input of inputs) await wrapped.prepare(input, { ...call, work });
};
const runtime = async (own: RuntimeTool, input: Json) => {
  const wrapped = await wrapRuntimeTool(own, { store });
  const ready = await wrapped.prepare(input, call);
  if (ready.kind === "failed") throw new ByrefError(ready.code, ready.message);
  const ran = await ready.run();
  if (ran.kind === "done") await ran.save();
};
const read = async (name: string, path: string) => store.readPath(name, parsePath(path) ?? []);
/** Runs `act`, and allows only the error `limit_exceeded`. */
const refusable = async (act: () => unknown) => {
  try {
    await act();
  } catch (error) {
    if (codeOf(error) !== "limit_exceeded") throw error;
  }
};
const object = (values: readonly string[]) =>
  Object.fromEntries(values.map((value, n) => [`k${n}`, value]));

/** The longest possible code, which is stored with each variable that it creates. */
const code = "x".repeat(limits.maxPieceChars);

const inCode = (script: (job: SandboxJob) => Promise<object>, tools = [] as const) =>
  runCode(scriptedSandbox(script), code, { store, variables: ["a", "b"], tools });

const reading = (path: (n: number) => string) =>
  inCode(async ({ read }) => {
    for (let n = 0; n < 2_000; n++) {
      const answer = await read("ab"[n % 2] ?? "", path(n));
      if ("error" in answer && answer.error.includes("maxRunReadWork")) return {};
    }
    throw new Error("Nothing ended it.");
  });

const assigning = (names: number) =>
  inCode(async () => ({ assigned: list(names, (n) => `v${n}`).map((name) => [name, "1"]) }));

const tooMany = async () => {
  const before = store.count();
  expect(await assigning(10_000)).toMatchObject({ code: "limit_exceeded" });
  expect(store.count()).toBe(before);
};

const calling = async () => {
  const value = "r".repeat(1_000_000);
  const made = await recordingTool(store, "make", () => value);
  await runCode(
    scriptedSandbox(async ({ call }) => {
      for (let n = 0; n < 1_000; n++) await call("make", JSON.stringify({ n }));
      return {};
    }),
    code,
    { store, tools: [made] },
  );
  expect(made.inputs).toHaveLength(limits.maxBatchItems);
};

const slices = "[0:]".repeat(120);

const inputs: readonly (readonly [what: string, act: () => unknown])[] = [
  ["interpolate: misses among 200,000 keys", () => interpolated(filled((n) => `{{keys.no${n}}}`))],
  [
    "interpolate: misses in values of 15 MB in turns",
    () => interpolated(list(999, (n) => `{{${"abc"[n % 3]}.no${n}}}`).join(" ")),
  ],
  ["interpolate: slices of slices", () => interpolated(filled((n) => `{{ones[${n}:]${slices}}}`))],
  ["answer: misses among 200,000 keys", () => answered(filled((n) => `$keys.no${n}`))],
  [
    "answer: misses in values of 15 MB in turns",
    () => answered(filled((n) => `$${"abc"[n % 3]}.no${n}`)),
  ],
  ["answer: a table of 120,000 rows, repeated", () => answered(filled(() => "$rows", "\n"))],
  ["answer: slices of slices", () => answered(filled((n) => `$ones[${n}:]${slices}`))],
  [
    "tool input: a slice of all, 1,000 times",
    () => calledWith([object(list(1_000, () => "$ones[0:]"))]),
  ],
  [
    "tool input: 1,000 different slices",
    () => calledWith([object(list(1_000, (n) => `$rows[${n}:${n + 9}]`))]),
  ],
  [
    "tool input: one of 15 MB that a person is asked about",
    () => calledWith([{ a: "$a.x" }], "ask"),
  ],
  [
    "tool calls of a step: 100 of 15 MB each",
    () => calledWith(list(100, () => "$a").map((a) => ({ a }))),
  ],
  [
    "tool calls of a step: 100 projections",
    () => calledWith(list(100, (n) => `$rows[${n}:][*].t[*][*]`).map((a) => ({ a }))),
  ],
  [
    "search: slices of slices below each row",
    () => runtime(searchVariable(), { name: "rows", path: `[*].t${slices}`, query: "zzz" }),
  ],
  [
    "search: a long literal",
    () => runtime(searchVariable(), { name: "text", query: `x${"é€x ".repeat(49)}` }),
  ],
  [
    "read: a projection of projections",
    () => runtime(readVariable, { name: "rows", path: "[*].t[*][*]" }),
  ],
  ["path: slices of slices", () => read("ones", slices)],
  ["path: a miss in each of 120,000 rows", () => read("rows", "[*].no")],
];

it.each(inputs)("%s: an input of 64 KiB to a full store does bounded work", async (_, act) => {
  const done = await workOf(sql, () => refusable(act));
  const wrong = Object.entries(bounds).filter(
    ([kind, most]) => done[kind as keyof DoneWork] > most,
  );
  expect({ wrong, done }).toEqual({ wrong: [], done });
});

const codeInputs: readonly (readonly [what: string, most: number, act: () => Promise<unknown>])[] =
  [
    [
      "reads of parts of alternating variables",
      limits.maxRunReadWork + limits.maxJsonBytes,
      () => reading(() => ".y"),
    ],
    [
      "reads of long parts",
      limits.maxRunReadWork + limits.maxJsonBytes,
      () => reading((n) => `.x[${n}:12000000]`),
    ],
    [
      "as many variables as it may make",
      3 * limits.maxListedVariables * limits.maxPieceChars,
      () => assigning(limits.maxListedVariables),
    ],
    ["more variables than it may make", 1_000_000, tooMany],
    ["1,000 calls of a tool", limits.maxBatchItems * 5_000_000, calling],
  ];

it.each(codeInputs)("code does bounded work: %s", async (_, most, act) => {
  const done = await workOf(sql, act);
  expect(Math.max(...Object.values(done))).toBeLessThanOrEqual(most);
});
