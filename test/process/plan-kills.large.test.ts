import { describe, it } from "vitest";
import { calls, stages } from "../chaos/plans/plan-kills.ts";
import { expectFinished, usePlanKills } from "../support/killed-plans.ts";

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
