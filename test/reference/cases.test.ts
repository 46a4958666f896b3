import { describe, expect, it } from "vitest";
import { type ExpandOptions, expandText } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { resolveReferences, type ResolveOptions } from "../../src/reference/resolve.ts";
import type { Json } from "../../src/value/json.ts";
import answers from "../cases/answers.json";
import inputs from "../cases/inputs.json";
import { cutsOf, expanded, streamed } from "../support/streamed.ts";

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

describe("streamed answers, cut everywhere", () => {
  const lookup = lookupIn(answers.variables as Record<string, Json>);
  // The file contains data of this shape. Running a case checks it.
  for (const { name, text, expect: expected, options } of answers.cases as AnswerCase[]) {
    it(name, async () => {
      for (const chunks of cutsOf(text)) {
        expect(expanded(lookup, chunks, options).text).toBe(expected);
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
