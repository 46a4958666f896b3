import type { UIMessage } from "ai";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { MeterPanel } from "../src/meter/meter-panel.tsx";

const savings = { promptChars: 100, inlinePromptChars: 900, authoredChars: 7, resolvedChars: 300 };

/** The notes of the meter: of all turns, then turn by turn. */
function notesFor(...wouldNotFit: readonly (number | undefined)[]): readonly string[] {
  const messages = wouldNotFit.map((calls, at): UIMessage => {
    const metadata = {
      savings: { ...savings, ...(calls !== undefined && { wouldNotFit: calls }) },
    };
    return { id: `a${at}`, role: "assistant", parts: [], metadata };
  });
  const html = renderToStaticMarkup(
    <MeterPanel messages={messages} firstParts={new Map()} prompt={null} />,
  );
  const notes = html.match(/<p class="meter-note">[^<]*/gu) ?? [];
  return notes
    .map((note) => note.replace(/^<[^>]*>/u, ""))
    .filter((note) => note.includes("fitted"));
}

function noteOf(calls: string): string {
  return `With the values, ${calls} would not have fitted into the context window; each counts as a full window.`;
}

it("the meter says of all turns, and of each, how many calls would not have fitted with the values", () => {
  expect(notesFor(1, undefined, 2)).toEqual([
    noteOf("3 model calls"),
    noteOf("1 model call"),
    noteOf("2 model calls"),
  ]);
});

it("the meter says nothing of it while all would have fitted", () => {
  expect(notesFor(undefined, undefined)).toEqual([]);
});
