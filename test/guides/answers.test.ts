import {
  expandText,
  interpolate,
  lookupIn,
  referencesIn,
  resolveReferences,
  type Unresolved,
} from "byref/references";
import { expect, it } from "vitest";
import { cutsOf } from "../support/streamed.ts";

const rows = Array.from({ length: 52 }, (_, n) => ({ n, note: n === 0 ? "a|b" : null }));
const values = { city: { name: "Oslo", temps: [1, 2] }, rows, list: [1, [2]], x: "v" };
function streamOf(pieces: readonly string[]): ReadableStream<string> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

async function joined(stream: ReadableStream<string>): Promise<string> {
  let text = "";
  for await (const piece of stream) text += piece;
  return text;
}

it("expands a stream of text, however it is split", async () => {
  for (const pieces of cutsOf("In $city.name it has $city.temps[-1] °C, for $5.")) {
    const words = streamOf(pieces);
    // --- a stream
    const lookup = lookupIn({ city: { name: "Oslo", temps: [1, 2] } });
    const expanded = words.pipeThrough(expandText(lookup));
    // ---
    expect(await joined(expanded)).toBe("In Oslo it has 2 °C, for $5.");
  }
});

it("finds the references in a text", async () => {
  const lookup = lookupIn(values);
  // --- what a text mentions
  const mentioned = await referencesIn("In $city.name, for $5 and $nobody", lookup);
  // ---
  expect(mentioned).toEqual([{ source: "$city.name", name: "city", path: [{ key: "name" }] }]);
});

it("reports what stays as written, and accepts other syntaxes", async () => {
  const words = streamOf(["{{city.name}}, †x, $x and {{city.zip}}"]);
  const lookup = lookupIn(values);
  // --- options
  const unresolved: Unresolved[] = [];
  const expanded = words.pipeThrough(
    expandText(lookup, {
      syntaxes: ["mustache", "dagger"], // default: dollar alone
      inCode: true, // default: nothing resolves in Markdown code
      onUnresolved: (what) => unresolved.push(what),
    }),
  );
  // ---
  expect(await joined(expanded)).toBe("Oslo, v, $x and {{city.zip}}");
  expect(unresolved).toMatchObject([{ reference: "{{city.zip}}", code: "path_not_found" }]);
});

it("fills in a text and resolves an input without a stream", async () => {
  const lookup = lookupIn(values);
  // --- without a stream
  const letter = await interpolate("Dear {{city.name}}, {{nobody}}", lookup);
  const input = await resolveReferences({ temps: "$city.temps", text: "in $city.name" }, lookup);
  // ---
  expect(letter.text).toBe("Dear Oslo, {{nobody}}");
  expect(letter.unresolved).toMatchObject([
    { reference: "{{nobody}}", code: "variable_not_found" },
  ]);
  expect(input).toEqual({ value: { temps: [1, 2], text: "in Oslo" }, unresolved: [] });
});
