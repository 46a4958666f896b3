import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandText, lookupIn } from "../../src/references.ts";
import { align, piecesOf, segmentsOf } from "../src/references/align.ts";

const variables = {
  city: { name: "Oslo", temperature: 9, rows: [{ id: 1 }, { id: 2 }] },
  note: "# Report\n\nAll is well.",
  empty: "",
};

/** What a person is shown, as the server makes it. */
async function shownFor(text: string): Promise<string> {
  const reader = new Blob([text])
    .stream()
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(expandText(lookupIn(variables)))
    .getReader();
  let shown = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) shown += part.value;
  return shown;
}

async function spansFor(written: string, shown?: string) {
  const text = shown ?? (await shownFor(written));
  const spans = align(await piecesOf(written), text);
  return spans.map(({ source, start, end }) => [source, text.slice(start, end)]);
}

describe("where a reference's value stands in the answer", () => {
  it("is between the pieces that stayed", async () => {
    expect(await spansFor("It is $city.temperature °C in $city.name.")).toEqual([
      ["$city.temperature", "9"],
      ["$city.name", "Oslo"],
    ]);
  });

  it("is all of it, or its beginning and end", async () => {
    expect(await spansFor("$city.name")).toEqual([["$city.name", "Oslo"]]);
    expect(await spansFor("$city.name, at $city.temperature")).toEqual([
      ["$city.name", "Oslo"],
      ["$city.temperature", "9"],
    ]);
  });

  it("is nowhere for what stayed as it was written", async () => {
    expect(await spansFor("Costs $5 in $nowhere, and `$city.name`.")).toEqual([]);
    expect(await spansFor("Is $nobody in $city.name?")).toEqual([["$city.name", "Oslo"]]);
  });

  it("is not guessed where it could be in two places", async () => {
    // `a, b` and `c`, or `a` and `b, c`?
    expect(await spansFor("$city.name, $city.name", "a, b, c")).toEqual([]);
    // Nothing stands between the two.
    expect(await spansFor("$city.name$city.temperature", "Oslo9")).toEqual([]);
  });

  it("is not guessed where the answer is another one", async () => {
    expect(await spansFor("It is $city.name.", "It was Oslo.")).toEqual([]);
    expect(await spansFor("ab $city.name", "ab ")).toEqual([["$city.name", ""]]);
    expect(await spansFor("ab $city.name ba", "ab ba")).toEqual([]);
  });

  it("never is another text than the value, wherever it is found", async () => {
    const piece = fc.constantFrom(
      "$city.name",
      "$city.temperature",
      "$empty",
      "a",
      ", ",
      "9",
      "Oslo",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
        const values: Record<string, string> = {
          "$city.name": "Oslo",
          "$city.temperature": "9",
          $empty: "",
        };
        for (const [source, text] of await spansFor(pieces.join(" "))) {
          expect(text).toBe(values[source ?? ""]);
        }
      }),
    );
  });
});

describe("the segments of an answer", () => {
  async function kindsFor(written: string) {
    const shown = await shownFor(written);
    const segments = segmentsOf(shown, align(await piecesOf(written), shown));
    return segments.map((segment) =>
      segment.kind === "block"
        ? ["block", shown.slice(segment.span.start, segment.span.end).trim()]
        : ["text", shown.slice(segment.start, segment.end).trim()],
    );
  }

  it("are blocks for tables and documents, which stand alone", async () => {
    expect(await kindsFor("Rows:\n\n$city.rows\n\nThat is all.")).toEqual([
      ["text", "Rows:"],
      ["block", "| id |\n| --- |\n| 1 |\n| 2 |"],
      ["text", "That is all."],
    ]);
    expect(await kindsFor("$note")).toEqual([["block", "# Report\n\nAll is well."]]);
  });

  it("are text for what is in a line, alone or not", async () => {
    expect(await kindsFor("In $city.name.")).toEqual([["text", "In Oslo."]]);
    expect(await kindsFor("$city.name")).toEqual([["text", "Oslo"]]);
  });
});
