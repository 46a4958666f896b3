import type { UIMessage } from "ai";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { MeterPanel } from "../src/meter/meter-panel.tsx";
import { tokensOf, turnCosts } from "../src/meter/turn-costs.ts";

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
  const meter = <MeterPanel messages={messages} prompt={null} />;
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
    expect(text).toContain("Sent to the model 200 tokens 400 characters");
    expect(text).toContain("Without references ≈ 1,800 tokens 3,600 characters");
  });
});

const prompt = { promptChars: 100, inlinePromptChars: 900, authoredChars: 7, resolvedChars: 300 };

function turn(id: string, metadata: unknown): readonly UIMessage[] {
  return [
    { id: `q-${id}`, role: "user", parts: [{ type: "text", text: `Question ${id}` }] },
    { id, role: "assistant", parts: [{ type: "step-start" }], metadata },
  ];
}

const messages = [
  ...turn("a", { savings: prompt, usage: { inputTokens: 40 }, cost: { rowsWritten: 5 } }),
  ...turn("b", undefined),
  ...turn("c", { savings: { ...prompt, wouldNotFit: 2 } }),
];

describe("the costs of turns", () => {
  it("come from the metadata of the answers, with the questions; other answers are skipped", () => {
    const turns = turnCosts(messages);
    expect(turns.map(({ id, question }) => [id, question])).toEqual([
      ["a", "Question a"],
      ["c", "Question c"],
    ]);
    expect(turns[0]).toMatchObject({
      ...prompt,
      tokens: { sent: 40, isReported: true, inline: 360 },
      wouldNotFit: 0,
      rowsWritten: 5,
    });
    expect(turns[1]).toMatchObject({
      tokens: { sent: 25, isReported: false, inline: 225 },
      wouldNotFit: 2,
      rowsWritten: undefined,
    });
  });

  it("are estimated in tokens if the provider reports none", () => {
    const prompt = { promptChars: 1_562, inlinePromptChars: 4_000 };
    expect(tokensOf(prompt, undefined)).toMatchObject({ sent: 391, inline: 1_000 });
    expect(tokensOf({ promptChars: 0, inlinePromptChars: 0 }, 0)).toMatchObject({ inline: 0 });
  });
});
