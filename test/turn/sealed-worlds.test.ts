import { expect, it } from "vitest";
import { compareWorlds } from "../support/sealed-worlds.ts";

it("a model is sent the same whatever the sealed values are, for any calls that it makes", async () => {
  expect((await compareWorlds(25)).told).toBe("");
});
