import type { Instructions } from "ai";
import { instructionsFor } from "../turn/history/prompt.ts";

/**
 * `full`: all that references can do; `minimal`: one sentence, for models that know or short prompts;
 * `none`: nothing, for instructions that explain references themselves.
 */
export type InstructionStyle = "full" | "minimal" | "none";

const GUIDES: Readonly<Record<InstructionStyle, string>> = {
  full: instructionsFor({ name: "", description: "", instructions: "", tools: {} }).trim(),
  minimal: `Results of tools are variables: write "$name" or "$name.path" as an argument or in your answer instead of copying a value.`,
  none: "",
};

/** The instructions, followed by the guide to references; once, however often it is added. */
export function withGuide(
  instructions: Instructions | undefined,
  style?: Exclude<InstructionStyle, "none">,
): Instructions;
export function withGuide(
  instructions: Instructions | undefined,
  style?: InstructionStyle,
): Instructions | undefined;
export function withGuide(
  instructions: Instructions | undefined,
  style: InstructionStyle = "full",
): Instructions | undefined {
  const guide = GUIDES[style];
  if (guide === "") return instructions;
  if (instructions === undefined || instructions === "") return guide;
  if (JSON.stringify(instructions).includes(JSON.stringify(guide).slice(1, -1))) {
    return instructions;
  }
  if (typeof instructions === "string") return `${instructions}\n\n${guide}`;
  const messages = Array.isArray(instructions) ? instructions : [instructions];
  return [...messages, { role: "system", content: guide }];
}
