import { describe, expect, it } from "vitest";
import type { PlanRunOptions } from "../../src/plan/plan-run.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTools } from "../../src/tool/wrap-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { tool, type ToolSet } from "ai";
import * as z from "zod";
import { checkedPlan, planRun, runRecord } from "../support/plan-runs.ts";
import { planOf } from "../support/plans.ts";

const planTools = () => ({
  echo: tool({
    inputSchema: z.object({ value: z.any() }),
    execute: ({ value }) => value as string,
  }),
});

async function runFor(
  calls: readonly Readonly<Record<string, Json>>[],
  tools: ToolSet,
  about: Pick<Partial<PlanRunOptions>, "commit"> = {},
) {
  const store = new MemoryStore();
  return planRun({
    checked: await checkedPlan(planOf(calls), { tools, isKnown: () => false }),
    record: runRecord("r1"),
    store,
    tools: await wrapTools(tools, { store, syntaxes: ["dagger"], unknown: "error" }),
    ...about,
  });
}

describe("a run that is over", () => {
  it("writes nothing after it has failed", async () => {
    let release = () => {};
    const slow = tool({
      inputSchema: z.object({}),
      execute: () => new Promise<number>((resolve) => (release = () => resolve(1))),
    });
    const tools = { ...planTools(), slow };
    let isBroken = false;
    let isOver = false;
    let late = 0;
    const run = await runFor(
      [
        { _tool: "slow", _id: "s", _outputPath: "†a" },
        { _tool: "echo", _id: "e", value: 1, _outputPath: "†b" },
      ],
      tools,
      {
        commit: (work) => {
          const record = work();
          if (isOver) late++;
          if (record.calls["e"]?.status === "done") isBroken = true;
          if (isBroken && !isOver) throw new Error("full");
        },
      },
    );
    await expect(run.run()).rejects.toThrow("full");
    isOver = true;
    release();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(late).toBe(0);
  });

  it("takes no decision when it has ended", async () => {
    const run = await runFor([{ _tool: "echo", value: "†approvals.legal" }], planTools());
    await run.run();
    expect(run.record.status).toBe("waiting");
    expect(await run.decide("legal", { approved: true })).toBe(false);
  });
});
