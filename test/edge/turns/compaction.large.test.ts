import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../../src/limits.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";

const TURNS = 500;
const SECRET = "my locker has the number 4711";

/** Text, small results and handles alternate. */
function stepsOf(turn: number): readonly Step[] {
  const answer: Step = [text(`Answer ${turn}. ${"So it is. ".repeat(turn % 40)}`), finish("stop")];
  if (turn % 3 === 0) return [answer];
  const rows = turn % 3 === 1 ? 2 : 100;
  return [[toolCall("look", { turn, rows }, { id: `c${turn}` }), finish("tool-calls")], answer];
}

function charsOf(prompt: readonly { readonly role: string }[]): number {
  return JSON.stringify(prompt.filter(({ role }) => role !== "system")).length;
}

it("holds the prompt of turn 500 within the budget, and finds what was said in turn 3", async () => {
  const look = tool({
    inputSchema: z.object({ turn: z.number(), rows: z.number() }),
    execute: ({ turn, rows }) =>
      Array.from({ length: rows }, (_, id) => ({ id, total: turn * id })),
  });
  const agent: Agent = { name: "a", description: "", instructions: "Help.", tools: { look } };
  const search = { name: "$history", query: "locker" };
  const asking: readonly Step[] = [
    [toolCall("search_variable", search, { id: "s" }), finish("tool-calls")],
    [text("It was: $history[4].text"), finish("stop")],
  ];
  const turns = Array.from({ length: TURNS - 1 }, (_, index) => stepsOf(index + 1));
  const model = scriptedModel([...turns.flat(), ...asking]);
  await withRuntime({ agents: [agent], model }, async (own) => {
    const say = async (message: string) => {
      const init = json({ message }, { accept: "application/json" });
      const response = await own.call("POST", "/conversations/c/messages", init);
      expect(response.status).toBe(200);
      return response.json<{ message: { parts: { text?: string }[] } }>();
    };
    for (let turn = 1; turn < TURNS; turn++) {
      await say(
        turn === 3 ? `Remember: ${SECRET}.` : `Question ${turn}. ${"And? ".repeat(turn % 50)}`,
      );
      if (turn % 100 === 0) own.wakeAgain();
    }
    const { message } = await say("What did I say about a locker?");
    expect(message.parts.at(-1)?.text).toBe(`It was: Remember: ${SECRET}.`);
  });
  const [first, second] = model.calls.slice(-2);
  expect(JSON.stringify(first?.prompt)).not.toContain(SECRET);
  expect(JSON.stringify(second?.prompt)).toContain(SECRET);
  for (const { prompt } of model.calls) {
    expect(charsOf(prompt)).toBeLessThanOrEqual(limits.historyChars);
  }
});
