import { tool, type ToolSet } from "ai";
import * as z from "zod";
import type { Json } from "../../../../src/value/json.ts";

export interface ToolDefinition {
  readonly description: string;
  /** Parameters by name. */
  readonly input: Readonly<Record<string, z.ZodType>>;
  /** Receives the checked input, and returns the result. */
  run(input: Readonly<Record<string, Json>>): Json;
}

/** A received call: the tool, and its input with references resolved. */
export interface ReceivedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, Json>>;
}

/** Creates tools that note each call that reaches them, in order. */
export function recordingTools(definitions: Readonly<Record<string, ToolDefinition>>): {
  readonly tools: ToolSet;
  readonly received: readonly ReceivedCall[];
} {
  const received: ReceivedCall[] = [];
  const entries = Object.entries(definitions).map(([name, { description, input, run }]) => {
    const made = tool({
      description,
      inputSchema: z.object(input),
      execute: (given): Json => {
        // The SDK has parsed it from JSON.
        const checked = given as Readonly<Record<string, Json>>;
        received.push({ tool: name, input: checked });
        return run(checked);
      },
    });
    return [name, made] as const;
  });
  return { tools: Object.fromEntries(entries), received };
}

/** Returns the last call of a tool that was received. */
export function lastCall(
  received: readonly ReceivedCall[],
  tool: string,
): ReceivedCall["input"] | undefined {
  return received.findLast((call) => call.tool === tool)?.input;
}
