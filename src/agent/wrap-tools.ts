import {
  asSchema,
  jsonSchema,
  type Tool,
  type ToolExecuteFunction,
  type ToolExecutionOptions,
  type ToolSet,
} from "ai";
import { ByrefError } from "../errors.ts";
import type { WrapOptions } from "../tool/prepared-call.ts";
import type { GuardedHandle, Handle, NotKept, ShownValue } from "../tool/tool-output.ts";
import { widenSchema } from "../tool/widen-schema.ts";
import { wrapTool } from "../tool/wrap-tool.ts";
import type { AnyTool, Prepared } from "../tool/wrapped-tool.ts";
import type { Json } from "../value/json.ts";
import { modelOutput } from "./model-output.ts";

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
  const entries = Object.entries(tools).map(([name, tool]) => [name, wrap(name, tool, options)]);
  // Each tool is replaced by one of the type that `Wrapped` says.
  return Object.fromEntries(entries) as WithVariables<Tools>;
}

function wrap(name: string, tool: AnyTool, options: WrapOptions): AnyTool {
  const isProvidersOwn = tool.type === "provider" && tool.isProviderExecuted;
  if (isProvidersOwn || tool.execute === undefined) return tool;
  const schema = asSchema(tool.inputSchema);
  // As a tool of the application's own, whoever defines its schema.
  const inner = { ...tool, type: undefined, inputSchema: schema } as AnyTool;
  const prepare = async (input: unknown, call: Call): Promise<Prepared> => {
    const wrapped = await wrapTool(name, inCall(inner, call), options);
    // The SDK made the input by parsing JSON.
    return wrapped.prepare(input as Json, {
      toolCallId: call.toolCallId,
      messages: call.messages,
      signal: call.abortSignal ?? NEVER,
    });
  };
  const mayAsk =
    tool.needsApproval !== undefined ||
    options.policy !== undefined ||
    options.policies?.[name]?.approval === true;
  const { outputSchema: _outputSchema, onInputAvailable: _told, ...rest } = tool;
  // The SDK's type of a tool hangs on that of its input, which nobody knows here.
  return {
    ...rest,
    // Without a validator: the resolved input is checked, not the references. A tool that a provider
    // defines has its schema there, and is shown no other.
    inputSchema: jsonSchema(async () =>
      tool.type === "provider" ? schema.jsonSchema : widenSchema(await schema.jsonSchema),
    ),
    ...(mayAsk
      ? { needsApproval: async (input: unknown, call: Call) => asks(await prepare(input, call)) }
      : {}),
    execute: async (input: unknown, call: Call) => outputOf(await prepare(input, call)),
    toModelOutput: modelOutput(tool),
  } as unknown as AnyTool;
}

/** What the SDK tells a tool of a call; no signal where it asks for an approval. */
type Call = ToolExecutionOptions<unknown>;

const NEVER = new AbortController().signal;

/** The tool, told in this call what the SDK tells it beside what is passed on: its context. */
function inCall(tool: AnyTool, { context, experimental_sandbox }: Call): AnyTool {
  const { execute, needsApproval, onInputAvailable } = tool;
  const beside = {
    context,
    ...(experimental_sandbox === undefined ? {} : { experimental_sandbox }),
  };
  // The SDK types these by the tool's schema and context, which it has checked.
  type Listener = (input: unknown, options: object) => unknown;
  const told = (listener: unknown) => (input: unknown, options: object) =>
    (listener as Listener)(input, Object.assign(options, beside));
  const toldOnce = onInputAvailable as ((options: object) => unknown) | undefined;
  // The same tool, with listeners of the same kinds.
  return {
    ...tool,
    execute: told(execute),
    ...(typeof needsApproval === "function" ? { needsApproval: told(needsApproval) } : {}),
    ...(toldOnce === undefined
      ? {}
      : { onInputAvailable: (options: object) => toldOnce(Object.assign(options, beside)) }),
  } as AnyTool;
}

/** A call that will fail asks nobody. */
function asks(prepared: Prepared): boolean {
  return prepared.kind === "ready" && prepared.approval !== undefined;
}

/** Throws what the model is told of a call that failed. */
async function outputOf(prepared: Prepared): Promise<unknown> {
  const run = prepared.kind === "ready" ? await prepared.run() : prepared;
  if (run.kind === "failed") throw new ByrefError(run.code, `${run.code}: ${run.message}`);
  const { output } = await run.save();
  return output;
}
