import { Expander, type ExpandOptions } from "../../src/reference/expand.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { fixedVariables, randomText } from "./reference-grammar.ts";
import { expandOracle } from "./reference-oracle.ts";

const optionSets: readonly (ExpandOptions & { syntaxes: ("dollar" | "mustache" | "dagger")[] })[] =
  [
    { syntaxes: ["dollar"] },
    { syntaxes: ["dollar", "mustache", "dagger"] },
    { syntaxes: ["mustache"], inCode: true },
    { syntaxes: ["dollar"], inUrls: true },
    { syntaxes: ["dollar"], couldBegin: (prefix) => names.some((name) => name.startsWith(prefix)) },
  ];
const names = Object.keys(fixedVariables);
const lookup = lookupIn(fixedVariables);

/** Returns the first text of `count` that the engine expands differently from the oracle, or undefined. */
export async function firstDifference(firstSeed: number, count: number) {
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const text = randomText(seed);
    const options = optionSets[seed % optionSets.length] ?? { syntaxes: [] };
    const expected = expandOracle(text, fixedVariables, options);
    const actual = await expandInPieces(text, lookup, { ...options, seed });
    if (actual !== expected) return { seed, options, text, expected, actual };
  }
  return undefined;
}

/** Expands a text that arrives in pieces, which the seed determines. */
export async function expandInPieces(
  text: string,
  lookup: Lookup,
  { seed, ...options }: ExpandOptions & { readonly seed: number },
): Promise<string> {
  const expander = new Expander(lookup, options);
  let expanded = "";
  const emit = (piece: string) => void (expanded += piece);
  let state = seed;
  for (let start = 0; start < text.length;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const end = start + 1 + (state % 7);
    await expander.write(text.slice(start, end), emit);
    start = end;
  }
  await expander.flush(emit);
  return expanded;
}
