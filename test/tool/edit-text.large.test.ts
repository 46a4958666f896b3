import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, it } from "vitest";
import { EditedText } from "../../src/tool/edit/edit-text.ts";
import { edited, editScripts, naive } from "../support/edit-scripts.ts";

it("10,000 random edit scripts make what a naive implementation makes", async () => {
  await fc.assert(
    fc.asyncProperty(editScripts, async ({ text, cuts, edits }) => {
      const { outcome, applied, after } = await edited(text, cuts, edits);
      expect(outcome).toEqual(naive(text, edits));
      expect(applied).toBe(after);
    }),
    { numRuns: 10_000 },
  );
}, 300_000);

it("a text of 50 MB is edited in 16 MiB", async () => {
  const line = `${"some words of a line ".repeat(10)}\n`;
  const piece = line.repeat(1_000);
  const pieces = Math.ceil(50_000_000 / piece.length);
  const edits = [
    { find: "a line \n", replace: "the end\n", all: true },
    { find: "of the end\n", replace: "of it\n", all: true },
  ];
  const run = new EditedText(async function* () {
    for (let at = 0; at < pieces; at++) yield piece;
  }, edits);
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const used = () => {
    gc();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  let most = 0;
  let chars = 0;
  for await (const text of run.text()) {
    const isChecked = Math.floor((chars + text.length) / 5_000_000) > Math.floor(chars / 5_000_000);
    chars += text.length;
    if (isChecked) most = Math.max(most, used() - before);
  }
  expect(chars).toBeGreaterThan(45_000_000);
  expect(most).toBeLessThan(16 * 1_048_576);
  expect(run.diff().more).toBeGreaterThan(100_000);
}, 300_000);
