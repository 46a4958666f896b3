import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codeOf } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { type ExpandOptions, expandText } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { answerText, fixedVariables, variableSet } from "../support/reference-grammar.ts";
import { embedOracle, expandOracle } from "../support/reference-oracle.ts";
import { expanded, streamed } from "../support/streamed.ts";
import { slow } from "../support/slow.ts";

type AnswerSyntax = "dollar" | "mustache" | "dagger";

const SYNTAXES: AnswerSyntax[] = ["dollar", "mustache", "dagger"];

const answerOptions = fc.record(
  { syntaxes: fc.subarray(SYNTAXES, { minLength: 1 }), inCode: fc.boolean(), inUrls: fc.boolean() },
  { requiredKeys: ["syntaxes"] },
);

function expand(text: string, lookup: Lookup, options?: ExpandOptions): string {
  return expanded(lookup, text, options).text;
}

function cutAt(text: string, cuts: readonly number[]): string[] {
  const offsets = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length];
  offsets.sort((a, b) => a - b);
  return offsets.slice(1).map((end, index) => text.slice(offsets[index], end));
}

describe("an answer", () => {
  const cuts = fc.array(fc.nat({ max: 2_000 }), { maxLength: 12 });
  const cutText = fc.tuple(answerText, cuts);

  it("expands the same however it is split", slow, () => {
    fc.assert(
      fc.property(cutText, variableSet, answerOptions, ([text, where], known, options) => {
        const lookup = lookupIn(known);
        const whole = expand(text, lookup, options);
        expect(whole).toBe(expandOracle(text, known, options));
        expect(expanded(lookup, cutAt(text, where), options).text).toBe(whole);
        expect(expanded(lookup, text.split(""), options).text).toBe(whole);
      }),
      { numRuns: 500 },
    );
  });

  it("expands the same with synchronous and asynchronous lookups", async () => {
    const known = lookupIn(fixedVariables);
    const property = fc.asyncProperty(answerText, cuts, async (text, where) => {
      const stream = expandText(async (reference) => known(reference));
      expect(await streamed(stream, cutAt(text, where))).toBe(expandOracle(text, fixedVariables));
    });
    await fc.assert(property);
  });

  it("is never held back by more than 512 characters, and nothing is held at its end", () => {
    const filler = fc.tuple(fc.constantFrom("k", " ", "9", ".a", "`"), fc.nat({ max: 600 }));
    const openings = fc.constantFrom("$odd['", "${odd.", "{{", "†odd[", "\\$odd['", "");
    const long = fc
      .tuple(answerText, openings, filler, answerText)
      .map(
        ([before, opening, [unit, times], after]) => before + opening + unit.repeat(times) + after,
      );
    fc.assert(
      fc.property(long, fc.boolean(), (text, inCode) => {
        const options = { syntaxes: SYNTAXES, inCode, inUrls: true };
        const result = expanded(lookupIn(fixedVariables), text.split(""), options);
        expect(result.text).toBe(expandOracle(text, fixedVariables, options));
        expect(result.mostHeld).toBeLessThanOrEqual(limits.maxHeldChars);
        expect(result.heldAtEnd).toBe(0);
      }),
    );
  });

  it.each<[string, Lookup, (text: string) => string]>([
    ["it opens no reference", lookupIn(fixedVariables), (text) => text.replaceAll(/[${†]/g, ".")],
    ["none of its names exist", lookupIn({}), (text) => text],
    ["all are evicted", () => ({ found: false, reason: "evicted" }), (text) => text],
  ])("does not change if %s", (_, lookup, plain) => {
    const any = fc.oneof(answerText, fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(any, answerOptions, (text, options) => {
        expect(expand(plain(text), lookup, options)).toBe(plain(text));
      }),
    );
  });
});

describe("a tool's input", () => {
  it("matches the oracle", slow, async () => {
    // Text beside the references makes them embedded. Whole references have their own tests.
    const input = answerText.map((text) => ` ${text}`);
    const syntaxes = fc.subarray(SYNTAXES, { minLength: 1 });
    const property = fc.asyncProperty(input, syntaxes, async (text, chosen) => {
      const resolved = await resolveReferences([{ text }], lookupIn(fixedVariables), {
        syntaxes: chosen,
      }).catch((error: unknown) => ({ value: [{ text: { error: codeOf(error) } }] }));
      const expected = embedOracle(text, fixedVariables, chosen);
      expect(resolved.value).toEqual([{ text: expected }]);
    });
    await fc.assert(property, { numRuns: 1_000 });
  });
});
