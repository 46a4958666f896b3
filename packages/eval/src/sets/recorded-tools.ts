import { jsonSchema, tool, type ToolSet } from "ai";
import { isDeepStrictEqual } from "node:util";
import type { JSONSchema7 } from "ai";
import type { Json } from "../../../../src/value/json.ts";

/** A call that was recorded, with its answer. */
export interface RecordedCall {
  readonly tool: string;
  readonly input: Json;
  readonly output: Json;
}

export interface RecordedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JSONSchema7;
}

/** Tools that know the answers to recorded calls only. */
export interface RecordedWorld {
  readonly tools: ToolSet;
  /** The recorded calls that have not been made. */
  readonly missing: () => readonly RecordedCall[];
}

/** The end of the error of a call that was not recorded. */
export const NO_ANSWER = "has no answer to these arguments: check each of them.";

/** Creates tools that answer recorded calls, and fail for others. */
export function recordedTools(
  definitions: readonly RecordedTool[],
  calls: readonly RecordedCall[],
): RecordedWorld {
  const left = new Set(calls);
  const entries = definitions.map(({ name, description, inputSchema }) => {
    const made = tool({
      description,
      inputSchema: jsonSchema<Json>(inputSchema),
      execute(input): Json {
        const same = calls.filter(
          (call) =>
            providerName(call.tool) === providerName(name) && isDeepStrictEqual(call.input, input),
        );
        const found = same.find((call) => left.has(call)) ?? same[0];
        if (found === undefined) {
          throw new Error(`${name} ${NO_ANSWER}`);
        }
        left.delete(found);
        return found.output;
      },
    });
    return [providerName(name), made] as const;
  });
  return { tools: Object.fromEntries(entries), missing: () => [...left] };
}

/** Providers allow 64 letters, digits, `_` and `-`. */
export function providerName(name: string): string {
  return name.replaceAll(/[^\w-]/gu, "_").slice(0, 64);
}
