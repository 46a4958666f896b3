import { describe, expect, it } from "vitest";
import { nameInRun, namesOfRun, scopeOfRun } from "../src/plan/run-names.ts";
import * as limits from "../../../src/limits.ts";

const run = "r12345678";
const long = "n".repeat(limits.maxNameChars);
const longest = "n".repeat(limits.maxNameChars - run.length - 1);

describe("the names of a run's own variables", () => {
  it("end with the run's id", () => {
    expect(namesOfRun(run, ["x", longest])).toEqual(
      ["input", "state", "approvals", "x", longest].map((name) => `${name}_${run}`),
    );
    expect(nameInRun(run, "y", ["x"])).toBe("y");
  });

  it("are shortened uniquely if there is no room for the id", () => {
    const names = ["_1", long, `${longest}x`, "x"];
    const own = namesOfRun(run, names);
    expect(new Set(own).size).toBe(own.length);
    for (const name of own) {
      expect(name.endsWith(`_${run}`)).toBe(true);
      expect(name.length).toBeLessThanOrEqual(limits.maxNameChars);
    }
  });

  it("are resolved for its calls; in written order results are the run's own, too", () => {
    const runNames = [long];
    const scope = scopeOfRun(run, { plan: { runNames, order: "written" } });
    expect(scope).toMatchObject({ run, names: runNames, ownsResults: true });
    expect(scope.nameOf(long)).toBe(nameInRun(run, long, runNames));
    expect(scopeOfRun(run, { plan: { runNames, order: "data" } }).ownsResults).toBe(false);
  });
});
