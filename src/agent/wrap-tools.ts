import { asSchema, jsonSchema, type Tool, type ToolExecuteFunction, type ToolSet } from "ai";
import { ByrefError } from "../errors.ts";
import { saved } from "../tool/prepared-save.ts";
import type { GuardedHandle, Handle, NotKept, ShownValue } from "../tool/tool-output.ts";
import type { AnyTool, Prepared, WrapOptions } from "../tool/wrapped-tool.ts";
import { isObject } from "../value/json.ts";
import { Decisions, ifDecided } from "./approvals.ts";
import { type Call, OwnTool } from "./own-tool.ts";
import { UNTRUSTED_NOTE } from "./step-prompt.ts";

/** What a call of a wrapped tool gives: a small value whole, of a large one what and where it is. */
export type VariableOutput<Value> =
  | (Omit<ShownValue, "value"> & { readonly value: Value })
  | Handle
  | GuardedHandle
  | NotKept;

/** A tool set by reference: inputs as they were, outputs as variables. */
export type WithVariables<Tools extends ToolSet> = {
  [Name in keyof Tools]: Wrapped<Tools[Name]>;
};

// In brackets: a tool is a union of kinds, and is looked at as a whole.
type Wrapped<One> = [One] extends [{ readonly isProviderExecuted: true }]
  ? One
  : [One] extends [{ readonly execute: CallableFunction }]
    ? [One] extends [Tool<infer Input, infer Output, infer Own>]
      ? Executable<Input, VariableOutput<Output>, Own>
      : One
    : One;

type Executable<Input, Output, Own> = Tool<Input, Output, Own> & {
  readonly execute: ToolExecuteFunction<Input, Output, Own>;
};

/**
 * The same tools, to be given to `generateText`, `streamText` or an agent of the AI SDK: the model may
 * write references as arguments, each result is saved in the store, and what the SDK records, sends to
 * the client and shows the model of it is `VariableOutput`. Tools that a provider or the client executes
 * are left as they are.
 *
 * A tool's `onInputAvailable` and `needsApproval` get the input with the values in it; the first is
 * called when the call runs, not before. Of a tool that yields results, the last one is the result and
 * the others are not shown. Its own `toModelOutput` is asked where the value is small; a large value is
 * always shown as its handle.
 */
export function wrapTools<Tools extends ToolSet>(
  tools: Tools,
  options: WrapOptions,
): WithVariables<Tools> {
  return wrapDecidedTools(tools, options, () => false);
}

/** The same, where `toolApproval` decides about each call of some tools. */
export function wrapDecidedTools<Tools extends ToolSet>(
  tools: Tools,
  options: WrapOptions,
  isDecided: (name: string) => boolean,
): WithVariables<Tools> {
  const entries = Object.entries(tools).map(([name, tool]) => {
    if (!OwnTool.runsHere(tool)) return [name, tool];
    return [name, wrap(new OwnTool(name, tool, options), isDecided(name))];
  });
  // Each tool is replaced by one of the type that `Wrapped` says.
  return Object.fromEntries(entries) as WithVariables<Tools>;
}

function wrap(own: OwnTool, isDecided: boolean): AnyTool {
  const { name, tool, options } = own;
  const decisions = Decisions.of(options.store);
  const { outputSchema: _outputSchema, onInputAvailable: _told, ...rest } = tool;
  const needsApproval = async (input: unknown, call: Call) => {
    const { prepared, pin } = await own.prepare(input, call);
    // A call that will fail asks nobody.
    const isAsked = prepared.kind === "ready" && prepared.approval !== undefined;
    decisions.keep(call, isAsked ? { pin, isAsked, isOverride: false } : undefined);
    return isAsked;
  };
  // The SDK's type of a tool hangs on that of its input, which nobody knows here.
  return {
    ...rest,
    // Without a validator: the resolved input is checked, not the references. A tool that a provider
    // defines has its schema there, and is shown no other.
    inputSchema: jsonSchema(async () => {
      const { inputSchema } = tool.type === "provider" ? tool : (await own.wrapped).shown;
      return asSchema(inputSchema).jsonSchema;
    }),
    ...(own.mayAsk ? { needsApproval } : {}),
    execute: async (input: unknown, call: Call) => {
      const decision = decisions.take(call);
      // In place of the tool's own `needsApproval`, `toolApproval` has decided.
      const unasked = decision?.isOverride === true ? async () => false : undefined;
      const pinned = await own.prepare(input, call, unasked);
      return outputOf(ifDecided(pinned, decision, { name, call, isDecided }));
    },
    toModelOutput: modelOutput(tool),
  } as unknown as AnyTool;
}

/** Throws what the model is told of a call that failed. */
async function outputOf(prepared: Prepared): Promise<unknown> {
  const run = prepared.kind === "ready" ? await prepared.run() : prepared;
  if (run.kind === "failed") throw new ByrefError(run.code, `${run.code}: ${run.message}`);
  const { output } = await saved(run.prepare);
  return output;
}

type ToModelOutput = NonNullable<Tool["toModelOutput"]>;
type ModelOutput = Awaited<ReturnType<ToModelOutput>>;

/**
 * How the model is shown what a call gave: as JSON, which is what the SDK does by itself. A tool with a
 * `toModelOutput` of its own is asked for small values, with the variable's name in front of what it says.
 */
function modelOutput({ toModelOutput }: AnyTool): ToModelOutput | undefined {
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
