import { jsonSchema, type Tool, type ToolExecuteFunction, type ToolSet } from "ai";
import { ByrefError, codeOf, publicTextOf } from "../../../../src/errors.ts";
import type {
  AnyTool,
  GuardedHandle,
  NotKept,
  Prepared,
  WrapOptions,
} from "../../../../src/internal-tool.ts";
import { json } from "../../../../src/internal.ts";
import type { Handle, ShownValue } from "../../../../src/runtime.ts";
import { ifDecided, isApproved, ledgerOf, statusOf, withChange } from "./approvals.ts";
import { type Call, OwnTool } from "./own-tool.ts";
import { UNTRUSTED_NOTE } from "./step-prompt.ts";

/** Output of a wrapped tool: a small value in full; for a large value, its description and its name. */
export type VariableOutput<Value> =
  | (Omit<ShownValue, "value"> & { readonly value: Value })
  | Handle
  | GuardedHandle
  | NotKept;

/** A tool set that works by reference: the same inputs, and outputs as variables. */
export type WithVariables<Tools extends ToolSet> = {
  [Name in keyof Tools]: Wrapped<Tools[Name]>;
};

// Brackets prevent distribution over the union of tool kinds.
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
 * Wraps tools for `generateText`, `streamText` or an agent of the AI SDK. The model may write references as
 * arguments, and each result is saved in the store. The SDK records, sends to the client and shows to the
 * model a `VariableOutput` in place of the result. Tools that a provider or the client executes are left
 * unchanged.
 *
 * A tool's `onInputAvailable` and `needsApproval` receive the input with references resolved;
 * `onInputAvailable` is called when the call runs, not before. If a tool yields several results, the last
 * one is the result and the others are not shown. The tool's own `toModelOutput` is called for small values;
 * a large value is always shown as its handle.
 */
export function wrapTools<Tools extends ToolSet>(
  tools: Tools,
  options: WrapOptions,
): WithVariables<Tools> {
  return wrapDecidedTools(tools, options, () => false);
}

/** Wraps tools, some of whose calls `toolApproval` decides about. */
export function wrapDecidedTools<Tools extends ToolSet>(
  tools: Tools,
  options: WrapOptions,
  isDecided: (name: string) => boolean,
): WithVariables<Tools> {
  const entries = Object.entries(tools).map(([name, tool]) => {
    if (!OwnTool.runsHere(tool) || VARIABLE_TOOL in tool) return [name, tool];
    return [name, wrap(new OwnTool(name, tool, options), isDecided(name))];
  });
  // Each tool is replaced by one of the type `Wrapped`.
  return Object.fromEntries(entries) as WithVariables<Tools>;
}

/**
 * Marks the tools of `variableTools`, which have their own store and policy. Other tools that are wrapped twice
 * have both policies.
 */
export const VARIABLE_TOOL = Symbol("tool of variableTools");

/** Returns the tool for the SDK. `isDecided`: `toolApproval` decides about its calls. */
export function wrap(own: OwnTool, isDecided: boolean): AnyTool {
  const { name, tool, options } = own;
  const { outputSchema: _outputSchema, onInputAvailable: _onInputAvailable, ...rest } = tool;
  const needsApproval = async (input: unknown, call: Call) =>
    (await statusOf(own, input, { call })) !== undefined;
  // The SDK's type of a tool depends on the type of its input, which is unknown here.
  return {
    ...rest,
    // Has no validator, because the resolved input is validated, not the references.
    inputSchema: jsonSchema(() => own.shownSchema),
    ...(own.mayRequireApproval ? { needsApproval } : {}),
    execute: async (input: unknown, given?: Partial<Call>) => {
      const call = callOf(given);
      const decision = ledgerOf(options.store).take(call.toolCallId);
      // `toolApproval` has decided in place of the tool's own `needsApproval`.
      const skipApproval = decision?.isOverride === true ? async () => false : undefined;
      const pinned = await own.prepare(decision?.changed?.input ?? input, call, skipApproval);
      const wasApproved = isApproved(call);
      const output = await outputOf(ifDecided(pinned, decision, { name, isDecided, wasApproved }));
      return withChange(output, decision);
    },
    toModelOutput: modelOutput(tool),
  } as unknown as AnyTool;
}

/** Completes the options of a call from a loop other than the SDK's. */
function callOf({ toolCallId, messages, ...given }: Partial<Call> = {}): Call {
  // The rest of the SDK's options is optional at run time.
  return {
    ...given,
    toolCallId: toolCallId ?? crypto.randomUUID(),
    messages: messages ?? [],
  } as Call;
}

/** Runs the call. Throws the message for the model if it failed. */
export async function outputOf(prepared: Prepared): Promise<unknown> {
  const run = prepared.kind === "ready" ? await prepared.run() : prepared;
  if (run.kind === "failed") throw new ByrefError(run.code, `${run.code}: ${run.message}`);
  try {
    const { output } = await run.save();
    return output;
  } catch (error) {
    throw new ByrefError(codeOf(error), publicTextOf(error));
  }
}

type ToModelOutput = NonNullable<Tool["toModelOutput"]>;
type ModelOutput = Awaited<ReturnType<ToModelOutput>>;

/**
 * Returns the `toModelOutput` of a wrapped tool. Without one, the SDK shows JSON. A tool's own
 * `toModelOutput` is called for small values, and its output begins with the variable's name.
 */
export function modelOutput({ toModelOutput }: AnyTool): ToModelOutput | undefined {
  if (toModelOutput === undefined) return undefined;
  // The SDK types it by the tool's output, which is passed to it below.
  const own = toModelOutput as ToModelOutput;
  return async ({ output, ...call }) => {
    const given: unknown = output;
    // The output is from a history that was recorded before the tools were wrapped.
    if (!json.isObject(given) || !("$var" in given || "notKept" in given)) {
      return own({ ...call, output: given });
    }
    // A handle is JSON; see `tool-output.ts`.
    if (!("value" in given)) return { type: "json", value: given as JsonValue };
    const content = await own({ ...call, output: given.value });
    return named(given, content);
  };
}

type JsonValue = Extract<ModelOutput, { type: "json" }>["value"];

function named(given: Readonly<Record<string, unknown>>, content: ModelOutput): ModelOutput {
  const name = String(given.$var);
  const isUntrusted = given.untrusted === true;
  const note = typeof given.note === "string" ? given.note : undefined;
  const label = `${note === undefined ? "" : `${note}\n`}$${name}${isUntrusted ? UNTRUSTED_NOTE : ""}:`;
  switch (content.type) {
    case "text":
      return { ...content, value: `${label} ${content.value}` };
    case "json": {
      const mark = { ...(isUntrusted && { untrusted: true }), ...json.compact({ note }) };
      return { ...content, value: { $var: name, value: content.value, ...mark } };
    }
    case "content":
      return { ...content, value: [{ type: "text", text: label }, ...content.value] };
    default:
      return content;
  }
}
