import * as limits from "../limits.ts";
import { nearest } from "../reference/near.ts";
import { clip } from "../value/characters.ts";

const MAX_NAMED_TOOLS = 20;

/** The message for a call of a tool that the model does not have. */
export function noSuchTool(toolName: string, known: readonly string[]): string {
  const near = nearest(toolName, known);
  const named = near.length > 0 ? near : known.slice(0, MAX_NAMED_TOOLS);
  const hint = near.length > 0 ? "Did you mean" : "There are";
  const advice = named.length === 0 ? "There are no tools." : `${hint}: ${named.join(", ")}.`;
  return `There is no tool ${clip(toolName, limits.maxNameChars)}. ${advice}`;
}
