import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";

const tokens = { input: 60, output: 40 };

/** Answers 2,000 times: each turn makes this many tool calls, one per step, and then ends. */
export function endless(acts: number): readonly Step[] {
  const step: Step = ({ prompt }) => {
    const asked = prompt.findLastIndex(({ role, content }) => {
      return role === "user" && !JSON.stringify(content).includes("<variables>");
    });
    const made = prompt.slice(asked).filter(({ role }) => role === "tool").length;
    return made < acts
      ? [toolCall("act", {}, { id: `call_${made}` }), finish("tool-calls", tokens)]
      : [text("Done."), finish("stop", tokens)];
  };
  return Array.from({ length: 2_000 }, () => step);
}
