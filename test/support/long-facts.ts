import { nodeQueryDatabases } from "../../packages/adapters/src/agent/node-query-engine.ts";
import * as limits from "../../src/limits.ts";
import { queryTools } from "../../packages/query/src/query-tools.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";
import { dataIn, optionsFor } from "./compacted.ts";
import { factsOf, mixedTurn } from "./long-talk.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, promptOf, resultShown } from "./turn.ts";

interface Asked {
  /** True if the call for a fact of turn 3 showed it. */
  readonly isFound: boolean;
  /** True if the prompt before that call had it already. */
  readonly isInPrompt: boolean;
  /** Characters of the messages in the longer of the two prompts, without instructions. */
  readonly chars: number;
}

/** The query names no turn, because the fact's number is the largest of all results. */
const LARGEST_TOTAL = `
  SELECT tools ->> '$[0].output.value.total' AS total
  FROM $history
  ORDER BY total DESC LIMIT 1`;

/** Asks for a fact of turn 3 (a number in a result, or a sentence of the user) after this many turns. */
export async function askForFact(seed: number, turns: number): Promise<Asked> {
  const data = dataIn();
  const options = optionsFor(data, limits.historyChars);
  for (let turn = 1; turn < turns; turn++) {
    const [question, answer] = mixedTurn(turn, seed);
    data.history.add(question);
    data.history.compact(options);
    data.history.add(answer);
  }
  const { store, history } = data;
  const databases = nodeQueryDatabases(store);
  const queries = (wrap: WrapOptions) => queryTools({ databases, wrap });
  const conversation = new Conversation({ tools: {}, store, history, services: { queries } });
  const { total, sentence } = factsOf(seed);
  const isNumber = seed % 2 === 0;
  const [tool, input] = isNumber
    ? ["query_variables", { sql: LARGEST_TOTAL }]
    : ["search_variable", { name: "$history", query: "locker" }];
  const turn = await conversation.say({
    question: "What did I tell you about the beginning?",
    steps: [
      [toolCall(tool, input, { id: "s" }), finish("tool-calls")],
      [text("It is there."), finish("stop")],
    ],
  });
  const fact = isNumber ? String(total) : sentence;
  const prompts = [promptOf(turn, 0), promptOf(turn, 1)].map((prompt) =>
    JSON.stringify(prompt.filter(({ role }) => role !== "system")),
  );
  return {
    isFound: JSON.stringify(resultShown(turn, 1, "s")).includes(fact),
    isInPrompt: prompts[0]?.includes(fact) === true,
    chars: Math.max(...prompts.map(({ length }) => length)),
  };
}
