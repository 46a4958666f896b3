import { isJsonArray, isJsonObject, type Json } from "../../../../src/value/json.ts";
import { NO_ANSWER } from "../sets/recorded-tools.ts";
import { callsIn } from "../sets/trace-task.ts";
import type { Reply } from "./chat-request.ts";
import type { Grasp, Hand } from "./hand.ts";
import type { SeenCall, Sight } from "./sight.ts";

/** Makes the calls that a question lists, in their order. Undefined if it lists none. */
export function solveTrace(sight: Sight, hand: Hand): Reply | undefined {
  if (!sight.question.startsWith("Make these calls in this order")) return undefined;
  const listed = callsIn(sight.question);
  const names = new Set(listed.map(({ tool }) => tool));
  const all = sight.calls.filter(({ tool, turn }) => turn === sight.turn && names.has(tool));
  const made = all.filter((call) => !call.isWrong || isRecordedError(call));
  const next = listed[made.length];
  if (next === undefined) return { text: "done" };
  if (all.length - made.length > 5)
    return { text: "I cannot do this: a call fails again and again." };
  const filled = fill(next.input, { made, hand });
  if (filled === undefined) return { text: "I cannot do this: I do not see the data." };
  if ("call" in filled) return { calls: [filled.call] };
  return { calls: [{ tool: next.tool, input: isJsonObject(filled.value) ? filled.value : {} }] };
}

/** A recorded answer may be the text of an error: it is the answer all the same. */
function isRecordedError({ output }: SeenCall): boolean {
  return (
    typeof output === "string" &&
    !output.endsWith(NO_ANSWER) &&
    !/^\w*Error: \w+_\w+: /u.test(output)
  );
}

interface Filling {
  readonly made: readonly SeenCall[];
  readonly hand: Hand;
}

const WHOLE = /^⟦(\d+)([^⟧]*)⟧$/u;
const INSIDE = /⟦(\d+)([^⟧]*)⟧/u;

/** Puts results in their places. */
function fill(value: Json, filling: Filling): Grasp {
  if (typeof value === "string") return fillText(value, filling);
  if (!isJsonArray(value) && !isJsonObject(value)) return { value };
  const entries: [string, Json][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const filled = fill(inner, filling);
    if (filled === undefined || "call" in filled) return filled;
    entries.push([key, filled.value]);
  }
  return {
    value: isJsonArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries),
  };
}

function fillText(text: string, filling: Filling): Grasp {
  const { made, hand } = filling;
  const [whole, number = "", path = ""] = WHOLE.exec(text) ?? INSIDE.exec(text) ?? [];
  if (whole === undefined) return { value: text };
  const call = made[Number(number) - 1];
  const passed = call === undefined ? undefined : hand.pass(call, path);
  if (passed === undefined || "call" in passed || whole === text) return passed;
  const { value } = passed;
  const written = typeof value === "string" ? value : JSON.stringify(value);
  return fillText(
    text.replace(whole, () => written),
    filling,
  );
}
