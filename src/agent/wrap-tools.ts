import { asSchema, jsonSchema, type Tool, type ToolExecuteFunction, type ToolSet } from "ai";
import { ByrefError } from "../errors.ts";
import { saved } from "../tool/prepared-save.ts";
import type { GuardedHandle, Handle, NotKept, ShownValue } from "../tool/tool-output.ts";
import type { AnyTool, Prepared, WrapOptions } from "../tool/wrapped-tool.ts";
import { Decisions, ifDecided } from "./decisions.ts";
import { modelOutput } from "./model-output.ts";
import {
  type Call,
  mayAsk,
  type OwnTool,
  pinOf,
  prepareCall,
  runsHere,
  unasked,
  wrappedTool,
} from "./prepared-call.ts";

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
    return [name, wrap({ name, tool, options, isDecided: isDecided(name) })];
  });
  // Each tool is replaced by one of the type that `Wrapped` says.
  return Object.fromEntries(entries) as WithVariables<Tools>;
}

function wrap(own: OwnTool): AnyTool {
  const { tool, options } = own;
  if (!runsHere(tool)) return tool;
  const decisions = Decisions.of(options.store);
  const { outputSchema: _outputSchema, onInputAvailable: _told, ...rest } = tool;
  // The SDK's type of a tool hangs on that of its input, which nobody knows here.
  return {
    ...rest,
    // Without a validator: the resolved input is checked, not the references. A tool that a provider
    // defines has its schema there, and is shown no other.
    inputSchema: jsonSchema(async () => {
      const { inputSchema } = tool.type === "provider" ? tool : (await wrappedTool(own)).shown;
      return asSchema(inputSchema).jsonSchema;
    }),
    ...(mayAsk(own)
      ? {
          needsApproval: async (input: unknown, call: Call) => {
            const prepared = await prepareCall(own, input, call);
            // A call that will fail asks nobody.
            const isAsked = prepared.kind === "ready" && prepared.approval !== undefined;
            const pin = await pinOf(own, input, prepared);
            decisions.keep(call, isAsked ? { pin, isAsked, isOverride: false } : undefined);
            return isAsked;
          },
        }
      : {}),
    execute: async (input: unknown, call: Call) => {
      const decision = decisions.take(call);
      const prepared = await prepareCall(
        decision?.isOverride === true ? unasked(own) : own,
        input,
        call,
      );
      const pin = decision === undefined ? undefined : await pinOf(own, input, prepared);
      return outputOf(ifDecided({ own, call, prepared, pin, decision }));
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
