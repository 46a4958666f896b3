import { describe, expect, it } from "vitest";
import { Expander, type ExpandOptions } from "../../src/reference/expand.ts";
import { expandText } from "../../src/reference/expand-text.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { resolveReferences, type ResolveOptions } from "../../src/reference/resolve.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import type { Json } from "../../src/value/json.ts";
import answers from "../cases/answers.json";
import inputs from "../cases/inputs.json";
import random from "../cases/random.json";
import { cutsOf, streamed } from "../support/streamed.ts";

interface AnswerCase {
  readonly name: string;
  readonly text: string;
  readonly expect: string;
  readonly options?: ExpandOptions;
}

interface InputCase {
  readonly name: string;
  readonly input: Json;
  readonly expect?: Json;
  readonly error?: { readonly code: string };
  readonly options?: ResolveOptions;
}

function expandWith(lookup: Lookup, chunks: readonly string[], options?: ExpandOptions): string {
  const expander = new Expander(lookup, options);
  let expanded = "";
  const emit = (piece: string) => {
    expanded += piece;
  };
  for (const chunk of chunks) void expander.write(chunk, emit);
  void expander.flush(emit);
  return expanded;
}

describe("streamed answers, cut everywhere", () => {
  const lookup = lookupIn(answers.variables as Record<string, Json>);
  // The file contains data of this shape. Running a case checks it.
  for (const { name, text, expect: expected, options } of answers.cases as AnswerCase[]) {
    it(name, async () => {
      for (const chunks of cutsOf(text)) {
        expect(expandWith(lookup, chunks, options)).toBe(expected);
        expect(await streamed(expandText(lookup, options), chunks)).toBe(expected);
      }
    });
  }
});

describe("tool inputs", () => {
  const lookup = lookupIn(inputs.variables as Record<string, Json>);
  for (const { name, input, expect: expected, error, options } of inputs.cases as InputCase[]) {
    it(name, async () => {
      const resolution = resolveReferences(input, lookup, options);
      if (error === undefined) expect((await resolution).value).toEqual(expected);
      else await expect(resolution).rejects.toMatchObject({ code: error.code });
    });
  }
});

/** Rows are the number of the options, the text, and what comes of it if that is something else. */
describe("random texts, with the results that two implementations had", () => {
  const lookup = lookupIn(random.variables as Record<string, Json>);

  it("are the same in answers, in pieces", () => {
    const answerOptions = random.answerOptions as readonly ExpandOptions[];
    for (const [of, text, expected = text] of random.answers as unknown as readonly Row[]) {
      const pieces = text.match(/[^]{1,7}/gu) ?? [];
      const result = expandWith(lookup, pieces, answerOptions[of]);
      if (result !== expected) expect([of, text, result]).toEqual([of, text, expected]);
    }
  });

  it("are the same in tool inputs", async () => {
    for (const [of, text, expected = text] of random.inputs as unknown as readonly Row<Json>[]) {
      const options = { syntaxes: random.inputSyntaxes[of] } as ResolveOptions;
      const result = await resolveReferences(text, lookup, options).then(
        ({ value }) => value,
        ({ code }) => ({ error: code as string }),
      );
      expect([of, text, result]).toEqual([of, text, expected]);
    }
  });
});

type Row<Result = string> = readonly [options: number, text: string, expected?: Result];
