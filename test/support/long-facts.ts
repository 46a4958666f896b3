import * as limits from "../../src/limits.ts";
import { nodeQueryDatabases } from "../../packages/adapters/src/agent/node-query-engine.ts";
import { queryTools } from "../../packages/query/src/query-tools.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";
import { dataIn, optionsFor } from "./compacted.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, promptOf, resultShown, START_MS } from "./turn.ts";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import type { MessagePart } from "../../src/turn/history/message-parts.ts";

/** The facts of turn 3: a number in a result, and a sentence of the person. */
type Facts = { readonly total: number; readonly sentence: string };

function factsOf(seed: number): Facts {
  return {
    total: 70_000_000 + seed * 7_919,
    sentence: `My locker has the number L${seed}-${seed * 31}.`,
  };
}

/** Returns a deterministic generator of numbers from 0 to below `below`. */
function randomOf(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A turn of mixed work: talk, small results, handles, failed calls. */
function mixedTurn(turn: number, seed: number): readonly [StoredMessage, StoredMessage] {
  const random = randomOf(seed * 1_000 + turn);
  const createdAt = new Date(START_MS + turn * 60_000).toISOString();
  const { total, sentence } = factsOf(seed);
  const asked = `Question ${turn}: ${"what of it? ".repeat(random(40))}`;
  const question = turn === 3 ? `${"By the way. ".repeat(40)}${sentence}` : asked;
  const parts: MessagePart[] = [];
  const calls = turn === 3 ? 1 : random(4);
  for (let call = 0; call < calls; call++) {
    const value = turn === 3 ? { total } : { total: random(1_000_000) };
    parts.push(
      { type: "step-start" },
      callOf(`${turn}_${call}`, random(turn === 3 ? 1 : 4), value),
    );
  }
  const text = `Answer ${turn}. ${"So it is. ".repeat(random(60))}`;
  parts.push({ type: "step-start" }, { type: "text", text, state: "done" });
  return [
    { id: `q${turn}`, role: "user", parts: [{ type: "text", text: question }], createdAt },
    { id: `a${turn}`, role: "assistant", parts, createdAt },
  ];
}

function callOf(id: string, kind: number, value: object): MessagePart {
  const call = { type: "tool-look" as const, toolCallId: `call_${id}`, input: { at: id } };
  const $var = `look_${id}`;
  if (kind === 3) return { ...call, state: "output-error", errorText: "tool_failed: It is down." };
  const handle = {
    $var,
    type: "array",
    count: 500,
    shape: "{id: number}[]",
    preview: "[".repeat(200),
  };
  return { ...call, state: "output-available", output: kind === 2 ? handle : { $var, value } };
}

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
