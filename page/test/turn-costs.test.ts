import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { tokensOf, totalsOf, turnCosts } from "../src/meter/turn-costs.ts";

const savings = { promptChars: 100, inlinePromptChars: 900, authoredChars: 7, resolvedChars: 300 };

function turn(id: string, metadata: unknown): readonly UIMessage[] {
  return [
    { id: `q-${id}`, role: "user", parts: [{ type: "text", text: `Question ${id}` }] },
    { id, role: "assistant", parts: [{ type: "step-start" }], metadata },
  ];
}

const messages = [
  ...turn("a", { savings, usage: { inputTokens: 40 }, cost: { rowsWritten: 5 } }),
  ...turn("b", undefined),
  ...turn("c", { savings: { ...savings, wouldNotFit: 2 } }),
];

describe("the costs of turns", () => {
  it("come from the metadata of the answers, with the questions; other answers are skipped", () => {
    const turns = turnCosts(messages, new Map([["a", 12.4]]));
    expect(turns.map(({ id, question }) => [id, question])).toEqual([
      ["a", "Question a"],
      ["c", "Question c"],
    ]);
    expect(turns[0]).toMatchObject({
      ...savings,
      tokens: { sent: 40, isReported: true, inline: 360 },
      wouldNotFit: 0,
      rowsWritten: 5,
      firstPartMs: 12.4,
    });
    expect(turns[1]).toMatchObject({
      tokens: { sent: 25, isReported: false, inline: 225 },
      wouldNotFit: 2,
      rowsWritten: undefined,
      firstPartMs: undefined,
    });
  });

  it("are added up", () => {
    expect(totalsOf(turnCosts(messages, new Map()))).toEqual({
      promptChars: 200,
      inlinePromptChars: 1_800,
      authoredChars: 14,
      resolvedChars: 600,
      wouldNotFit: 2,
      tokens: { sent: 65, isReported: false, inline: 585 },
      rowsWritten: 5,
    });
  });

  it("are estimated in tokens if the provider reports none", () => {
    const prompt = { promptChars: 1_562, inlinePromptChars: 4_000 };
    expect(tokensOf(prompt, undefined)).toMatchObject({ sent: 391, inline: 1_000 });
    expect(tokensOf({ promptChars: 0, inlinePromptChars: 0 }, 0)).toMatchObject({ inline: 0 });
  });
});
