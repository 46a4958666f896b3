import { expect, it } from "vitest";
import { figure } from "../support/scorecard.ts";
import { compareWorlds } from "../support/sealed-worlds.ts";

it("a model receives the same for all sealed values, whatever calls it makes", async () => {
  const runs = 500;
  const { calls, told } = await compareWorlds(runs);
  figure("S18", { "pairs of worlds": runs, calls, "pairs told apart": told === "" ? 0 : 1 });
  expect(told).toBe("");
});
