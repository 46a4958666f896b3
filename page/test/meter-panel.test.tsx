import type { UIMessage } from "ai";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { MeterPanel } from "../src/meter/meter-panel.tsx";
import { savingsInWords } from "../src/meter/savings-words.ts";

const savings = {
  promptChars: 400,
  inlinePromptChars: 3_600,
  authoredChars: 7,
  resolvedChars: 300,
};
const small = { promptChars: 400, inlinePromptChars: 400, authoredChars: 0, resolvedChars: 0 };

/** Returns the text of the meter after one turn with each metadata. */
function meterFor(...turns: readonly object[]): string {
  const messages = turns.map((metadata, at): UIMessage => {
    return { id: `a${at}`, role: "assistant", parts: [], metadata };
  });
  const meter = <MeterPanel messages={messages} firstParts={new Map()} prompt={null} />;
  return renderToStaticMarkup(meter)
    .replaceAll(/<[^>]*>/gu, " ")
    .replaceAll(/\s+/gu, " ");
}

describe("the meter", () => {
  it("has one percentage: the share of prompt tokens sent", () => {
    const usage = { inputTokens: 200 };
    const text = meterFor({ savings, usage }, { savings: small, usage });
    expect(text).toContain(
      "20 % of the prompt tokens that would have been sent without references",
    );
    expect(text.match(/%/gu)).toHaveLength(1);
    expect(text).toContain("Sent 200 tokens 400 characters");
    expect(text).toContain("Without references ≈ 1,800 tokens 3,600 characters");
  });
});

describe("the line below an answer", () => {
  it.each([
    [savings, 100, "100 tokens sent (≈ 900 without references)"],
    [savings, undefined, "≈ 100 tokens sent (≈ 900 without references)"],
    [
      { ...savings, wouldNotFit: 2 },
      100,
      "100 tokens sent (without references it would not have fitted into the context window)",
    ],
    [{ ...savings, inlinePromptChars: 400 }, 100, "Model wrote 7 characters; they expanded to 300"],
    [small, 100, "100 tokens sent. Nothing to save here: results were small"],
  ])("is %#", (counts, reported, words) => {
    expect(savingsInWords(counts, reported)).toBe(words);
  });
});
