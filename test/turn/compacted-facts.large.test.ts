import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { dataIn, optionsFor } from "../support/compacted.ts";
import { factsOf, mixedTurn } from "../support/long-talk.ts";
import { finish, text, toolCall } from "../support/scripted-model.ts";
import { Conversation, promptOf, resultShown } from "../support/turn.ts";

const TURNS = 500;
const SEEDS = 100;

/** The characters of the messages of a prompt, without instructions. */
function messageChars(prompt: readonly { readonly role: string }[]): number {
  return JSON.stringify(prompt.filter(({ role }) => role !== "system")).length;
}

it("finds a fact of turn 3 in one call after 500 turns, in a prompt within the budget", async () => {
  let found = 0;
  let longest = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const data = dataIn();
    const options = optionsFor(data, limits.historyChars);
    for (let turn = 1; turn < TURNS; turn++) {
      const [question, answer] = mixedTurn(turn, seed);
      data.history.add(question);
      data.history.compact(options);
      data.history.add(answer);
    }
    const { store, history } = data;
    const conversation = new Conversation({ tools: {}, store, history });
    const { total, sentence } = factsOf(seed);
    const isNumber = seed % 2 === 0;
    const [tool, input] = isNumber
      ? ["read_variable", { name: "$history", path: "[5].tools" }]
      : ["search_variable", { name: "$history", query: "locker" }];
    const turn = await conversation.say({
      question: "What did I tell you about the beginning?",
      steps: [
        [toolCall(tool, input, { id: "s" }), finish("tool-calls")],
        [text("It is there."), finish("stop")],
      ],
    });
    const [first, second] = [promptOf(turn, 0), promptOf(turn, 1)];
    longest = Math.max(longest, messageChars(first), messageChars(second));
    expect(JSON.stringify(first)).not.toContain(isNumber ? String(total) : sentence);
    const shown = JSON.stringify(resultShown(turn, 1, "s"));
    if (shown.includes(isNumber ? String(total) : sentence)) found++;
  }
  expect(found).toBe(SEEDS);
  expect(longest).toBeLessThanOrEqual(limits.historyChars);
});
