import { expect, test } from "vitest";
import { CONVERSATIONS, exhaust, exhaustStops, LONG_CONVERSATION } from "./exhaustive.ts";

test.for(Object.entries(CONVERSATIONS))("two crashes anywhere: %s", async ([, plan]) => {
  expect(await exhaust(plan, true)).toBeGreaterThan(50);
});

test.for(Object.entries(CONVERSATIONS))(
  "a stop anywhere, with or without a crash behind it: %s",
  async ([, plan]) => {
    expect(await exhaustStops(plan, [Infinity, 0, 1, 2])).toBeGreaterThan(25);
  },
);

test("one crash anywhere: a log of several rows, results that come as streams", async () => {
  expect(await exhaust(LONG_CONVERSATION, false)).toBeGreaterThan(50);
});
