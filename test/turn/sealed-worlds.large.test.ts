import { expect, it } from "vitest";
import { compareWorlds } from "../support/sealed-worlds.ts";

it("a model receives the same for all sealed values, whatever calls it makes", async () => {
  expect(await compareWorlds(500)).toBe("");
});
