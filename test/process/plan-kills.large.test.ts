import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, describe, it } from "vitest";
import { calls, type Kill, PlanKills, stages } from "../chaos/plans/plan-kills.ts";
import { temporaryFolder } from "../support/server.ts";

/** A server to kill, for the tests of one file. */
function usePlanKills(): () => PlanKills {
  const stateDir = temporaryFolder();
  let kills: PlanKills;
  beforeAll(async () => {
    kills = await PlanKills.open(stateDir);
  });
  afterAll(async () => {
    await kills.close();
    rmSync(stateDir, { recursive: true, force: true });
  });
  return () => kills;
}

/** Runs the plan with these kills. Requires that it ends, completes all possible calls, and pays nothing twice. */
async function expectFinished(
  kills: PlanKills,
  conversation: string,
  when: readonly Kill[],
): Promise<void> {
  const plan = await kills.run(conversation, when);
  const statuses = Object.fromEntries(plan.calls.map(({ _id, status }) => [_id, status]));
  for (const { _id: id, _tool: tool } of calls) {
    const work = kills.work.get(id) ?? [];
    // Retries use the key of the first attempt.
    expect(new Set(work).size, `${id}: ${work.join(", ")}`).toBeLessThanOrEqual(1);
    if (tool === "pay") {
      expect(work.length, id).toBeLessThanOrEqual(1);
      const { reason = "" } = plan.calls.find(({ _id }) => _id === id) ?? {};
      const isUnknown = statuses[id] === "failed" && reason.startsWith("outcome_unknown: ");
      expect(statuses[id] === "done" || isUnknown, `${id}: ${statuses[id]} ${reason}`).toBe(true);
      if (statuses[id] === "done") expect(work).toHaveLength(1);
    } else {
      expect([id, statuses[id]]).toEqual([id, "done"]);
      expect(work.length, id).toBeGreaterThan(0);
    }
  }
  const { state, calls: ended = [] } = plan.runs[0] ?? {};
  for (const { _id: id } of calls) {
    if (statuses[id] !== "done") continue;
    expect(state).toHaveProperty(id, `did ${id}`);
    expect(ended.find(({ _id }) => _id === id)).toHaveProperty("output", `did ${id}`);
  }
}

// Each call at one stage, each stage with calls of all three effects.
const all = calls.map(({ call }, index) => ({
  call,
  stage: stages[index % stages.length] ?? "asked",
}));

describe("a plan of ten calls", () => {
  const kills = usePlanKills();

  it.each(all)("finishes when the server is killed where $call is $stage", async (kill) => {
    await expectFinished(kills(), `${kill.call}_${kill.stage}`, [kill]);
  });
});
