import type { Tool } from "ai";
import type { AnyTool } from "../tool/wrapped-tool.ts";
import { isObject } from "../value/json.ts";
import { UNTRUSTED_NOTE } from "./untrusted-history.ts";

type ToModelOutput = NonNullable<Tool["toModelOutput"]>;
type ModelOutput = Awaited<ReturnType<ToModelOutput>>;

/**
 * How the model is shown what a call gave: as JSON, which is what the SDK does by itself. A tool with a
 * `toModelOutput` of its own is asked for small values, with the variable's name in front of what it says.
 */
export function modelOutput({ toModelOutput }: AnyTool): ToModelOutput | undefined {
  if (toModelOutput === undefined) return undefined;
  // The SDK types it by the tool's output, which it is given here.
  const own = toModelOutput as ToModelOutput;
  return async ({ output, ...call }) => {
    const given: unknown = output;
    // Somebody's history from before its tools were wrapped.
    if (!isObject(given) || !("$var" in given || "notKept" in given)) {
      return own({ ...call, output: given });
    }
    // A handle is JSON: `tool-output.ts` made it.
    if (!("value" in given)) return { type: "json", value: given as JsonValue };
    const said = await own({ ...call, output: given.value });
    return named(given, said);
  };
}

type JsonValue = Extract<ModelOutput, { type: "json" }>["value"];

function named(given: Readonly<Record<string, unknown>>, said: ModelOutput): ModelOutput {
  const name = String(given.$var);
  const isUntrusted = given.untrusted === true;
  const label = `$${name}${isUntrusted ? UNTRUSTED_NOTE : ""}:`;
  switch (said.type) {
    case "text":
      return { ...said, value: `${label} ${said.value}` };
    case "json": {
      const mark = isUntrusted ? { untrusted: true } : {};
      return { ...said, value: { $var: name, value: said.value, ...mark } };
    }
    case "content":
      return { ...said, value: [{ type: "text", text: label }, ...said.value] };
    default:
      return said;
  }
}
