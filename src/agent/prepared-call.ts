import type { ToolExecutionOptions } from "ai";
import { digestOf } from "../tool/tool-input.ts";
import { wrapTool } from "../tool/wrap-tool.ts";
import type { AnyTool, Prepared, WrapOptions, WrappedTool } from "../tool/wrapped-tool.ts";
import type { Json } from "../value/json.ts";

/** What the SDK passes to a tool with a call; it has no signal while it asks for an approval. */
export type Call = ToolExecutionOptions<unknown>;

/** A tool that runs here, with its name. */
export interface OwnTool {
  readonly name: string;
  readonly tool: AnyTool;
  readonly options: WrapOptions;
  /** True if `toolApproval` decides about each call: without a decision none may run. */
  readonly isDecided?: boolean;
}

/** False for a tool that a provider or the client executes. */
export function runsHere(tool: AnyTool): boolean {
  const isProvidersOwn = tool.type === "provider" && tool.isProviderExecuted;
  return !isProvidersOwn && tool.execute !== undefined;
}

/** True if a call of the tool may have to wait for a person. */
export function mayAsk({ name, tool, options: { policy, policies } }: OwnTool): boolean {
  return (
    tool.needsApproval !== undefined || policy !== undefined || policies?.[name]?.approval === true
  );
}

/** The tool without its `needsApproval`, in whose place `toolApproval` decides. */
export function unasked(own: OwnTool): OwnTool {
  const { needsApproval: _overridden, ...tool } = own.tool;
  // The same tool, without one of its functions.
  return { ...own, tool: tool as AnyTool };
}

/** The tool by reference. A tool that a provider defines and the application executes is like any other. */
export function wrappedTool({ name, tool, options }: OwnTool): Promise<WrappedTool> {
  // The same tool, of no type.
  return wrapTool(name, { ...tool, type: undefined } as AnyTool, options);
}

/** Resolves the references of a call and asks the policy, as the tool's call would. Nothing runs. */
export async function prepareCall(own: OwnTool, input: unknown, call: Call): Promise<Prepared> {
  const wrapped = await wrappedTool({ ...own, tool: inCall(own.tool, call) });
  // The SDK made the input by parsing JSON.
  return wrapped.prepare(input as Json, {
    toolCallId: call.toolCallId,
    messages: call.messages,
    signal: call.abortSignal ?? new AbortController().signal,
  });
}

/**
 * Identifies a call: the tool, the input as the model wrote it, and the values of its references. Undefined
 * for a call that cannot run. A client must never see it, because it is a digest of values.
 */
export async function pinOf(
  { name }: OwnTool,
  input: unknown,
  prepared: Prepared,
): Promise<string | undefined> {
  if (prepared.kind === "failed") return undefined;
  // As in `prepareCall`.
  return JSON.stringify([name, await digestOf(input as Json), prepared.pin]);
}

/** The tool, whose functions receive what the SDK passes besides: the context and the sandbox. */
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
