import { describe, expect, it } from "vitest";
import { answerWith, expandedInPieces, leakingTexts, urlLeaks } from "../support/url-fuzz.ts";
import { sampled, samples } from "../support/slow.ts";
import { urlVariables } from "../support/url-grammar.ts";
import { harmlessAnswers, urlShapes } from "../support/url-shapes.ts";

const TEXTS = samples(12_000);

describe("a rendered answer", () => {
  it.each(urlShapes)("has no value in a URL, however the answer is cut: %j", (shape) => {
    const exposed = answerWith(shape, urlVariables, { inUrls: true, inCode: true });
    // Makes sure that the shape leaks without protection.
    expect(urlLeaks(exposed)).not.toEqual([]);
    const leaks = [1, 2, 3, 4, 5].flatMap((seed) => urlLeaks(expandedInPieces(shape, seed)));
    expect(leaks).toEqual([]);
  });

  it(`has no value in a URL in ${TEXTS.toLocaleString("en")} random answers`, sampled, () => {
    const leaks = [...leakingTexts(1, TEXTS)];
    expect(leaks).toEqual([]);
  });
});

describe("a harmless answer", () => {
  it.each(harmlessAnswers)("keeps its links and contains its values: %j", (answer) => {
    const outputs = [1, 2, 3].map((seed) => expandedInPieces(answer, seed, { v: "VALUE" }));
    expect(new Set(outputs)).toEqual(new Set([answer.replaceAll("$v", "VALUE")]));
  });
});
