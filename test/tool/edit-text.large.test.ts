import { expect, it } from "vitest";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { EditedText } from "../../src/tool/edit/edit-variable.ts";

it("a text of 50 MB is edited in 16 MiB of memory", async () => {
  const { chars, mostBytes, more } = await editedMemory();
  expect(chars).toBeGreaterThan(45_000_000);
  expect(mostBytes).toBeLessThan(16 * 1_048_576);
  expect(more).toBeGreaterThan(100_000);
});

/** Cost of editing a long text. */
interface EditMemory {
  readonly chars: number;
  /** Peak memory in addition to the text, sampled every five million characters. */
  readonly mostBytes: number;
  /** Number of diff lines that were counted, not shown. */
  readonly more: number;
}

/** Edits a text of 50 MB twice on each line, and measures the memory. */
async function editedMemory(): Promise<EditMemory> {
  const line = `${"some words of a line ".repeat(10)}\n`;
  const piece = line.repeat(1_000);
  const pieces = Math.ceil(50_000_000 / piece.length);
  const edits = [
    { find: "a line \n", replace: "the end\n", all: true },
    { find: "of the end\n", replace: "of it\n", all: true },
  ];
  const read = async function* () {
    for (let at = 0; at < pieces; at++) yield piece;
  };
  const run = new EditedText(read, pieces * piece.length, edits);
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const used = () => {
    gc();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  let mostBytes = 0;
  let chars = 0;
  for await (const text of run.text()) {
    const isChecked = Math.floor((chars + text.length) / 5_000_000) > Math.floor(chars / 5_000_000);
    chars += text.length;
    if (isChecked) mostBytes = Math.max(mostBytes, used() - before);
  }
  return { chars, mostBytes, more: run.diff().more ?? 0 };
}
