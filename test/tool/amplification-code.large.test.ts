import { afterAll, beforeAll, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { SandboxJob } from "../../packages/code/src/sandbox.ts";
import { searchVariable } from "../../src/tool/variables/search-variable.ts";
import { closeAll, migratedSql, type WatchedSql } from "../store/watched-sql.ts";
import { workOf } from "../support/count-work.ts";
import { listOf } from "../support/long-inputs.ts";
import { fakeTool, runCode } from "../support/run-code.ts";
import { outputOf } from "../support/runtime-tool-calls.ts";
import { scriptedSandbox } from "../support/scripted-sandbox.ts";

let sql: WatchedSql;
let store: SqlStore;

beforeAll(async () => {
  sql = migratedSql();
  store = new SqlStore(sql);
  for (const name of ["a", "b"]) {
    await store.save({ name, value: { x: "a".repeat(15_000_000), y: 1 } });
  }
  await store.save({ name: "one", value: [{ s: "a".repeat(15_000_000) }] });
  await store.save({ name: "text", value: `${"ab ".repeat(15_000_000)}` });
});

afterAll(closeAll);

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
  inCode(async () => ({ assigned: listOf(names, (n) => `v${n}`).map((name) => [name, "1"]) }));

const calling = async () => {
  const value = "r".repeat(1_000_000);
  const made = fakeTool(store, { name: "make" }, () => value);
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

const search = (query: string) =>
  outputOf(searchVariable(), { name: "text", query }, { store, inRun: false });

const inputs: readonly (readonly [what: string, most: number, act: () => Promise<unknown>])[] = [
  [
    "code: reads of parts of alternating variables",
    limits.maxRunReadWork + limits.maxJsonBytes,
    () => reading(() => ".y"),
  ],
  [
    "code: reads of long parts",
    limits.maxRunReadWork + limits.maxJsonBytes,
    () => reading((n) => `.x[${n}:12000000]`),
  ],
  [
    "code: as many variables as it may make",
    3 * limits.maxListedVariables * limits.maxPieceChars,
    () => assigning(limits.maxListedVariables),
  ],
  ["code: 10,000 variables", 1_000_000, () => assigning(10_000)],
  ["code: 1,000 calls of a tool", limits.maxBatchItems * 5_000_000, calling],
  ["search: a long literal", limits.maxReadWork * 2, () => search(`b${"a".repeat(199)}`)],
];

it.each(inputs)("%s: a call of 64 KiB to a full store does bounded work", async (_, most, act) => {
  const done = await workOf(sql, () => act().catch((error: unknown) => String(error)));
  expect(Math.max(...Object.values(done))).toBeLessThanOrEqual(most);
});

it("code keeps no variable if it makes more than it may", async () => {
  const before = store.count();
  const outcome = await assigning(limits.maxListedVariables + 1);
  expect(outcome).toMatchObject({ code: "limit_exceeded" });
  expect(store.count()).toBe(before);
});
