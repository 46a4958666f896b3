import { isUnknown, type Outcome, same } from "./checks.ts";
import type { Plan } from "./plan.ts";

/**
 * Checks that both outcomes are the same, up to where a turn was stopped, an outcome is unknown, or the order
 * of calls matters.
 */
export function compare(actual: Outcome, expected: Outcome, { turns }: Plan): void {
  for (const [index, message] of actual.messages.entries()) {
    const planned = expected.messages[index];
    const end = divergence(message, turns[Math.floor(index / 2)]?.steps ?? []);
    if (end === undefined) {
      same(message, planned, `message ${index} with and without crashes`);
      continue;
    }
    const what = `message ${index} with and without crashes, before part ${end},`;
    same(message.parts.slice(0, end), planned?.parts.slice(0, end), what);
    return;
  }
  same(actual.messages.length, expected.messages.length, "messages with and without crashes");
  same(actual.variables, expected.variables, "variables with and without crashes");
  same(actual.toolCalls, expected.toolCalls, "calls of tools with and without crashes");
}

/** Returns the index of the first step that may differ, if there is one. */
function divergence(
  { id, parts, stopped }: Outcome["messages"][number],
  planned: readonly { readonly isRaced: boolean }[],
): number | undefined {
  if (!id.startsWith("answer-")) return undefined;
  const starts = parts.flatMap((part, index) => (isStepStart(part) ? [index] : []));
  const raced = starts[planned.findIndex(({ isRaced }) => isRaced)];
  const unknown = parts.findIndex(isUnknown);
  const unknownStart = starts.findLast((start) => start < unknown);
  const stoppedStart = stopped ? (starts.at(-1) ?? 0) : undefined;
  const ends = [raced, unknownStart, stoppedStart].filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function isStepStart(part: unknown): boolean {
  return typeof part === "object" && part !== null && "type" in part && part.type === "step-start";
}
