import { describe, expect, it } from "vitest";
import { didIn, stages } from "../chaos/plans/plan-kills.ts";
import { usePlanKills } from "../support/killed-plans.ts";

/** Returns every combination of a call and a stage. */
const placesIn = (calls: readonly string[]) =>
  calls.flatMap((call) => stages.map((stage) => ({ call, stage })));

describe("the outputs of a run", () => {
  const kills = usePlanKills();

  const large = ["large_1", "large_2"];
  const plan = large.map((call, index) => {
    const from = large.slice(0, index).map((read) => `†state.${read}`);
    return { _tool: "look", _id: call, call, from, _outputPath: `†state.${call}` };
  });

  it.each(placesIn(large))(
    "are stored once under their names when the server is killed where $call is $stage",
    async (kill) => {
      const conversation = `${kill.call}_${kill.stage}`;
      const body = { type: "application/json", text: JSON.stringify({ calls: plan }) };
      const { runs } = await kills().runPlan(conversation, body, [kill]);
      const { status, calls = [] } = runs[0] ?? {};
      const kept = large.map((call) => `plan_${call}`);
      expect(status).toBe("done");
      expect(calls.map(({ output }) => output)).toMatchObject(kept.map(($var) => ({ $var })));
      const values = large.map((call) => [call, didIn(call)] as const);
      expect(await kills().variables(conversation)).toEqual({
        ...Object.fromEntries(values.map(([call, value]) => [`plan_${call}`, value])),
        state: Object.fromEntries(values),
      });
    },
  );

  const template = `## one
@output variable:report
@write-mode new
Do step_one

## two
@output variable:log
Do step_two
`;

  it.each(placesIn(["step_one", "step_two"]))(
    "of a template are written once each when the server is killed where $call is $stage",
    async (kill) => {
      const conversation = `${kill.call}_${kill.stage}`;
      const body = { type: "text/markdown", text: template, query: "?agent=worker" };
      const { runs } = await kills().runPlan(conversation, body, [kill]);
      const { status, calls = [] } = runs[0] ?? {};
      expect(status).toBe("done");
      expect(calls.map(({ output }) => output)).toEqual([
        { answer: "did step_one", written: ["variable:report_000"] },
        { answer: "did step_two", written: ["variable:log"] },
      ]);
      expect(await kills().variables(conversation)).toEqual({
        report_000: "did step_one",
        log: "did step_two",
      });
    },
  );
});
