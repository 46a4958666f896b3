import { expect, test } from "vitest";
import { CONVERSATIONS, exhaust } from "./exhaustive.ts";

test.for(Object.entries(CONVERSATIONS))("two crashes anywhere: %s", async ([, plan]) => {
  expect(await exhaust(plan, true)).toBeGreaterThan(500);
});
