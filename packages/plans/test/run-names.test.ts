import { expect, it } from "vitest";
import { namesOfRun } from "../src/plan/run-names.ts";
import * as limits from "../../../src/limits.ts";

const run = "r12345678";
const long = "n".repeat(limits.maxNameChars);
const longest = "n".repeat(limits.maxNameChars - run.length - 1);

it("the names of a run's own variables are shortened uniquely if there is no room for the id", () => {
  const names = ["_1", long, `${longest}x`, "x"];
  const own = namesOfRun(run, names);
  expect(new Set(own).size).toBe(own.length);
  for (const name of own) {
    expect(name.endsWith(`_${run}`)).toBe(true);
    expect(name.length).toBeLessThanOrEqual(limits.maxNameChars);
  }
});
