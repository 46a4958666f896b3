import { expect, it } from "vitest";
import { editedMemory } from "../support/edit-memory.ts";
import { compareEdits } from "../support/edit-scripts.ts";

it("10,000 random edit scripts have the same result as a naive implementation", () =>
  compareEdits(10_000));

it("a text of 50 MB is edited in 16 MiB of memory", async () => {
  const { chars, mostBytes, more } = await editedMemory();
  expect(chars).toBeGreaterThan(45_000_000);
  expect(mostBytes).toBeLessThan(16 * 1_048_576);
  expect(more).toBeGreaterThan(100_000);
});
