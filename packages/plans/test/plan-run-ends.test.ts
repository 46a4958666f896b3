import { expect, it } from "vitest";
import type { PlanRunOptions } from "../src/plan/plan-run.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { wrapTools } from "../../../src/tool/tool-call.ts";
import type { Json } from "../../../src/value/json.ts";
import { tool, type ToolSet } from "ai";
import * as z from "zod";
import { checkedPlan, planRun, runRecord } from "../../../test/support/plan-runs.ts";
import { planOf } from "../../../test/support/plans.ts";

const planTools = () => ({
  echo: tool({
    inputSchema: z.object({ value: z.any() }),
    execute: ({ value }) => value as string,
  }),
});

async function runFor(
  calls: readonly Readonly<Record<string, Json>>[],
  tools: ToolSet,
  {
    left = tools,
    store = new MemoryStore(),
    ...about
  }: {
    readonly commit?: PlanRunOptions["commit"];
    /** The tools that still exist when the plan runs. */
    readonly left?: ToolSet;
    readonly store?: MemoryStore;
  } = {},
) {
  return planRun({
    checked: await checkedPlan(planOf(calls), { tools, isKnown: () => false }),
    record: runRecord("r1"),
    store,
    tools: await wrapTools(left, { store, syntaxes: ["dagger"], unknown: "error" }),
    ...about,
  });
}

it("a run that is over accepts no decision", async () => {
  const run = await runFor([{ _tool: "echo", value: "†approvals.legal" }], planTools());
  await run.run();
  expect(run.record.status).toBe("waiting");
  expect(await run.decide("legal", { approved: true })).toBe(false);
});
