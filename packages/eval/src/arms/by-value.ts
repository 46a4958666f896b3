import type { ToolSet } from "ai";
import { characters } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import type { Arm } from "./arm.ts";
import { playTurn } from "./loop.ts";

/** Characters of a result: a cap of 10,000 tokens at four characters each. */
const CAP_CHARS = 40_000;

/** Results are in the messages, whole. */
export const byValue: Arm = {
  name: "by value",
  open: (tools) => ({ play: (turn) => playTurn(turn, tools), readers: [] }),
};

/** Results are in the messages, up to a length. */
export const capped: Arm = {
  name: "cap",
  open(tools) {
    const shown = showing(tools, (text) => {
      if (text.length <= CAP_CHARS) return undefined;
      const start = characters.clip(text, CAP_CHARS);
      return `${start}\n[cut: ${text.length - start.length} more characters]`;
    });
    return { play: (turn) => playTurn(turn, shown), readers: [] };
  },
};

/** Returns tools that show their results to the model as another text. Undefined: as they are. */
export function showing(tools: ToolSet, textFor: (text: string) => string | undefined): ToolSet {
  const entries = Object.entries(tools).map(([name, tool]) => {
    const toModelOutput = ({ output }: { readonly output: unknown }) => {
      // The tools of tasks return JSON.
      const value = output as Json;
      const text = textFor(typeof value === "string" ? value : JSON.stringify(value));
      if (text !== undefined) return { type: "text" as const, value: text };
      return typeof value === "string"
        ? { type: "text" as const, value }
        : { type: "json" as const, value: value as never };
    };
    return [name, { ...tool, toModelOutput }] as const;
  });
  return Object.fromEntries(entries) as ToolSet;
}
