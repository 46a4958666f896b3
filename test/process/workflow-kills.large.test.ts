import { describe, expect, it } from "vitest";
import { type Kill, stages, workflowCalls } from "../chaos/plans/plan-kills.ts";
import { Random } from "../chaos/random.ts";
import { usePlanKills } from "../support/killed-plans.ts";
import { samples } from "../support/slow.ts";

const SEEDS = samples(20);

const points = workflowCalls.flatMap((call) => stages.map((stage): Kill => ({ call, stage })));
const once = points.map((kill, index) => ({ name: `point_${index}`, kills: [kill] }));
const often = Array.from({ length: SEEDS }, (_, seed) => {
  const random = new Random(seed + 1);
  return { name: `seed_${seed + 1}`, kills: points.filter(() => random.chance(0.2)) };
});

const VARIABLES = ["experience", "skills", "prompt", "summary", "filesystem_write_tmp_summary_md"];

describe("a workflow in a single model answer", () => {
  const kills = usePlanKills();

  it("has the same result as the plan, wherever the server is killed", async () => {
    await kills().runWorkflow("plan");
    const planned = new Map(kills().inputs);
    expect([...planned.keys()]).toEqual(workflowCalls);
    const expected = await kills().answer("undisturbed", []);
    expect(Object.keys(expected)).toEqual(VARIABLES);
    for (const { name, kills: places } of [...once, ...often]) {
      const values = await kills().answer(name, places);
      expect(values, name).toEqual(expected);
      expect(kills().inputs, name).toEqual(planned);
      const keys = [...kills().work.values()].map((used) => new Set(used).size);
      expect(keys, name).toEqual([1, 1, 1, 1]);
    }
  });
});
