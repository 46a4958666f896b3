import { describe, expect, it } from "vitest";
import { replayAsPlans } from "../../../test/support/replay-as-plans.ts";
import type { Step, Trace } from "../../../test/support/replay.ts";

/** A conversation with the shape of recorded ones, written for this test. */
const days = [
  { day: "Monday", rain: null },
  { day: "Tuesday", rain: 3 },
];
const chain: Trace = {
  id: "a chain, with text around references and a result under several labels",
  steps: [
    step("find_city", {
      labels: ["id", "zip code"],
      input: { name: "Oslo" },
      output: { id: 7, "zip code": "†state.x" },
    }),
    step("get_forecast", {
      label: "var_2",
      input: { city: "⟦0⟧", note: "for ⟦0⟧, ⟦1⟧" },
      refs: [
        { name: "id", path: [] },
        { name: "zip code", path: [] },
      ],
      expect: { city: 7, note: "for 7, †state.x" },
      output: days,
    }),
    step("find_city", { label: "var_3", input: { name: "Rome" }, output: { id: 8 } }),
    step("tell", {
      label: null,
      input: { all: ["⟦0⟧", { last: "⟦1⟧", none: "⟦2⟧" }], other: "⟦3⟧" },
      refs: [
        { name: "var_2", path: [] },
        { name: "var_2", path: [-1, "day"] },
        { name: "var_2", path: [0, "rain"] },
        { name: "var_3", path: [] },
      ],
      expect: { all: [days, { last: "Tuesday", none: null }], other: { id: 8 } },
      output: "told",
    }),
  ],
};

const options = { seed: 1, shuffles: 3 };

describe("a recorded conversation as a plan", () => {
  it("has the same result in any order", async () => {
    const ran = { kind: "ran", runs: 2 * 4, failures: [] };
    expect(await replayAsPlans(chain, options)).toEqual(ran);
  });

  it("fails with each store and in each order if a tool gets a different input", async () => {
    const steps = chain.steps.map((one, index) => (index === 1 ? { ...one, expect: {} } : one));
    const replayed = await replayAsPlans({ id: "wrong", steps }, options);
    const failures = replayed.kind === "ran" ? replayed.failures : [];
    expect(failures).toHaveLength(8);
    const [first] = failures;
    const actual = [{ city: 7, note: "for 7, †state.x" }];
    expect(first).toMatchObject({ id: "wrong", at: "step 1", expected: [{}], actual });
    expect(new Set(failures.map(({ store }) => store)).size).toBe(2);
    expect(new Set(failures.map(({ order }) => order.join())).size).toBeGreaterThan(1);
  });

  it("is skipped if a step refers to what no step before it writes", async () => {
    const tied = step("a", { input: { x: "⟦0⟧" }, refs: [{ name: "var_9", path: [] }] });
    const steps = [...chain.steps.slice(0, 1), tied];
    const reason = "a reference to what no step before it writes";
    expect(await replayAsPlans({ id: "skipped", steps }, options)).toEqual({
      kind: "skipped",
      reason,
    });
  });
});

function step(tool: string, about: Partial<Step>): Step {
  const { input = {} } = about;
  return { tool, input, refs: [], expect: input, output: null, ...about };
}
