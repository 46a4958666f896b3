import type { Instructions } from "ai";
import { instructionsFor } from "../turn/history/prompt.ts";

/** `full`: all that references can do; `minimal`: one sentence, for models that know or short prompts. */
export type InstructionStyle = "full" | "minimal";

const GUIDES: Readonly<Record<InstructionStyle, string>> = {
  full: instructionsFor({ name: "", description: "", instructions: "", tools: {} }).trim(),
  minimal: `Results of tools are variables: write "$name" or "$name.path" as an argument or in your answer instead of copying a value.`,
};

/** The instructions with how to work by reference behind them; once, however often it is asked for. */
export function withGuide(
  instructions: Instructions | undefined,
  style: InstructionStyle = "full",
): Instructions {
  const guide = GUIDES[style];
  if (instructions === undefined || instructions === "") return guide;
  if (JSON.stringify(instructions).includes(JSON.stringify(guide).slice(1, -1))) {
    return instructions;
  }
  if (typeof instructions === "string") return `${instructions}\n\n${guide}`;
  const messages = Array.isArray(instructions) ? instructions : [instructions];
  return [...messages, { role: "system", content: guide }];
}
