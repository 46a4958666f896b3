import { isUnknown, type Outcome, same } from "./checks.ts";

/** The same came of both; up to where an outcome is not known. */
export function compare(actual: Outcome, expected: Outcome): void {
  for (const [index, message] of actual.messages.entries()) {
    const planned = expected.messages[index];
    const unknown = message.parts.findIndex(isUnknown);
    if (unknown < 0) {
      same(message, planned, `message ${index} with and without crashes`);
      continue;
    }
    const steps = message.parts.slice(0, unknown) as readonly { readonly type: string }[];
    const start = steps.findLastIndex(({ type }) => type === "step-start");
    const some = message.parts.slice(0, start);
    same(some, planned?.parts.slice(0, start), `message ${index} before what is unknown`);
    return;
  }
  same(actual.messages.length, expected.messages.length, "messages with and without crashes");
  same(actual.variables, expected.variables, "variables with and without crashes");
  same(actual.toolCalls, expected.toolCalls, "calls of tools with and without crashes");
}
