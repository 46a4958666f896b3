import fc from "fast-check";
import { applyPatch } from "diff";
import { expect } from "vitest";
import { EditedText } from "../../src/tool/edit/edited-value.ts";
import { codeOf } from "../../src/errors.ts";
import type { Replacement } from "../../src/value/text-edit.ts";

const unit = fc.constantFrom("a", "b", "ab", "\n", "c", "é", "😀");
const piece = fc.string({ unit, minLength: 1, maxLength: 4 });

/** A text, its pieces, and edits that often match. */
const editScripts = fc.record({
  text: fc.string({ unit, maxLength: 60 }),
  cuts: fc.array(fc.nat({ max: 70 }), { maxLength: 5 }),
  edits: fc.array(
    fc.record({
      find: piece,
      replace: fc.string({ unit, maxLength: 5 }),
      all: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  ),
});

type Outcome = { readonly text: string } | { readonly code: string };

/** The naive implementation: replaces one text after the other. */
function naive(text: string, edits: readonly Replacement[]): Outcome {
  let edited = text;
  for (const { find, replace, all = false } of edits) {
    const parts = edited.split(find);
    if (parts.length === 1) return { code: "edit_not_found" };
    if (parts.length > 2 && !all) return { code: "edit_ambiguous" };
    edited = parts.join(replace);
  }
  return { text: edited };
}

function piecesOf(text: string, cuts: readonly number[]): readonly string[] {
  const ends = [...cuts, text.length].sort((one, other) => one - other);
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
}

/** Returns the edited text, and the result of applying its diff with another implementation. */
export async function edited(text: string, cuts: readonly number[], edits: readonly Replacement[]) {
  const read = async function* () {
    yield* piecesOf(text, cuts);
  };
  const run = new EditedText(read, text.length, edits);
  let made = "";
  try {
    for await (const part of run.text()) made += part;
  } catch (error) {
    return { outcome: { code: codeOf(error) } };
  }
  const { diff, more } = run.diff();
  const isComplete = (one: string) => one === "" || one.endsWith("\n");
  const isMarked = diff.includes("\n\\ No newline");
  const lines = (one: string) => (isMarked || isComplete(one) ? one : `${one}\n`);
  const [before, after] = [text, made].map(lines);
  const applied = more === undefined ? applyPatch(before ?? "", `--- a\n+++ b\n${diff}`) : after;
  return { outcome: { text: made }, diff, applied, after };
}

/** Compares random edit scripts with a naive implementation. */
export async function compareEdits(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(editScripts, async ({ text, cuts, edits }) => {
      const { outcome, applied, after } = await edited(text, cuts, edits);
      expect(outcome).toEqual(naive(text, edits));
      expect(applied).toBe(after);
    }),
    { numRuns },
  );
}
