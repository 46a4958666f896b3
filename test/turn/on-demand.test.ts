import { expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { CHARS_PER_TOKEN } from "../../src/tool/tool-output.ts";
import { costOfLooking } from "../support/on-demand.ts";

const records = Array.from({ length: 500 }, (_, at) => ({ id: `ord_${at}`, total: at * 7 }));

it.each<[string, Json]>([
  ["records", records],
  ["numbers", records.map(({ total }) => total * 1_001)],
  ["a text", "Words of a text, in lines.\n".repeat(500)],
])("a handle says within a tenth what reading %s costs, in 20 characters", async (_kind, value) => {
  const { chars, tokens, read } = await costOfLooking(value);
  expect(chars).toBeLessThanOrEqual(20);
  expect(read / CHARS_PER_TOKEN / tokens).toBeGreaterThan(0.95);
  expect(read / CHARS_PER_TOKEN / tokens).toBeLessThan(1.1);
});
