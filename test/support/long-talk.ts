import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import type { MessagePart } from "../../src/turn/history/message-parts.ts";
import { START_MS } from "./turn.ts";

/** The facts of turn 3: a number in a result, and a sentence of the person. */
interface Facts {
  readonly total: number;
  readonly sentence: string;
}

export function factsOf(seed: number): Facts {
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
export function mixedTurn(turn: number, seed: number): readonly [StoredMessage, StoredMessage] {
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
