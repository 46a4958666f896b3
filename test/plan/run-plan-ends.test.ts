import { describe, expect, it } from "vitest";
import { checkPlan } from "../../src/plan/check-plan.ts";
import { readJsonPlan } from "../../src/plan/json-plan.ts";
import { PlanRun } from "../../src/plan/run-plan.ts";
import type { RunRecord } from "../../src/plan/run-record.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTools } from "../../src/tool/wrap-tool.ts";
import { tool, type ToolSet } from "ai";
import * as z from "zod";

const planTools = () => ({
  echo: tool({
    inputSchema: z.object({ value: z.any() }),
    execute: ({ value }) => value as string,
  }),
});

async function runFor(
  calls: readonly object[],
  tools: ToolSet,
  commit?: (work: () => RunRecord) => void,
) {
  const { plan } = readJsonPlan({ calls });
  if (plan === undefined) throw new Error("no plan");
  const store = new MemoryStore();
  const { checked } = await checkPlan(plan, { tools, isKnown: () => false });
  if (checked === undefined) throw new Error("not checked");
  const wrapped = await wrapTools(tools, {
    store,
    syntaxes: ["dagger"],
    unknown: "error",
  } as never);
  const record: RunRecord = {
    id: "r1",
    plan: "p",
    status: "running",
    calls: {},
    gates: {},
    keep: true,
    needs: [],
    createdAt: "",
  };
  return new PlanRun({
    checked,
    record,
    store,
    tools: wrapped as never,
    effectsOf: () => "once",
    conversation: "c",
    signal: new AbortController().signal,
    commit: commit ?? ((work) => void work()),
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
      (work) => {
        const record = work();
        if (isOver) late++;
        if (record.calls["e"]?.status === "done") isBroken = true;
        if (isBroken && !isOver) throw new Error("full");
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
