import type { ToolLoopAgentSettings, ToolSet } from "ai";
import type { AnyTool, WrapOptions } from "../tool/wrapped-tool.ts";
import { Decisions } from "./decisions.ts";
import { type Call, mayAsk, type OwnTool, pinOf, prepareCall, runsHere } from "./prepared-call.ts";

type ToolApproval = NonNullable<ToolLoopAgentSettings<never, ToolSet>["toolApproval"]>;
type ForAll = Extract<ToolApproval, CallableFunction>;
type ForOne = Exclude<ToolApproval, CallableFunction>[string];
type Status = Awaited<ReturnType<ForAll>>;

/** Decides about one call, with values in place of its references. */
type Decide = (input: unknown) => Status | PromiseLike<Status>;

/**
 * `toolApproval` for tools of `wrapTools` with the same options. Its functions receive the input that
 * would run, with values in place of references, checked by the tool's schema. A person is shown the same
 * as the reason of the request. The call that runs is the one that was decided about, or the model is told
 * to call it again (`approval_needed`). A call whose references cannot be resolved fails without a decision.
 * If one of the functions throws, a person is asked.
 */
export function wrapToolApproval(
  approval: ToolApproval | undefined,
  tools: ToolSet,
  options: WrapOptions,
): ToolApproval {
  const own = (name: string): OwnTool | undefined => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    return tool !== undefined && runsHere(tool) ? { name, tool, options } : undefined;
  };
  if (typeof approval === "function") {
    return async (given) => {
      const { toolCall, messages, toolsContext } = given;
      const { toolCallId, toolName, input } = toolCall;
      const tool = own(toolName);
      if (tool === undefined) return approval(given);
      // The SDK types the contexts by the tools.
      const contexts: Readonly<Record<string, unknown>> = toolsContext ?? {};
      const call = { toolCallId, messages, context: contexts[toolName] };
      // The same call: its input is as its schema has it.
      const decide = (value: unknown) =>
        approval({ ...given, toolCall: { ...toolCall, input: value } as typeof toolCall });
      return statusOf(tool, input, { call, decide });
    };
  }
  const given = new Map(Object.entries(approval ?? {}));
  const names = new Set([...Object.keys(tools), ...given.keys()]);
  const entries = Array.from(names, (name): readonly [string, ForOne] => {
    const forOne = given.get(name);
    const tool = own(name);
    const isOurs = tool !== undefined && (forOne !== undefined || mayAsk(tool));
    return [name, isOurs ? approvalOf(tool, forOne) : forOne];
  });
  return Object.fromEntries(entries.filter(([, forOne]) => forOne !== undefined));
}

/** True if the application's `toolApproval` decides about the calls of the tool. */
export function decides(approval: ToolApproval | undefined, name: string): boolean {
  if (typeof approval !== "object") return approval !== undefined;
  return Object.hasOwn(approval, name) && approval[name] !== undefined;
}

function approvalOf(own: OwnTool, approval: ForOne): ForOne {
  return (input, { toolContext, ...options }) => {
    const call = { ...options, context: toolContext };
    const decide = (value: unknown) =>
      typeof approval === "function" ? approval(value, { ...options, toolContext }) : approval;
    return statusOf(own, input, { call, ...(approval === undefined ? {} : { decide }) });
  };
}

/** Without `decide` the tool's own `needsApproval` does. The strictest of that and the policy counts. */
async function statusOf(
  own: OwnTool,
  input: unknown,
  { call, decide }: { readonly call: Call; readonly decide?: Decide },
): Promise<Status> {
  let status: Decided | undefined;
  const needsApproval = async (value: unknown) => {
    status = await decided(value, decide);
    return status.type === "user-approval";
  };
  // The same tool, with another of its functions.
  const tool = decide === undefined ? own.tool : ({ ...own.tool, needsApproval } as AnyTool);
  const prepared = await prepareCall({ ...own, tool }, input, call);
  const approval = prepared.kind === "ready" ? prepared.approval : undefined;
  // Where the policy asks the person already, the application may still deny.
  if (prepared.kind === "ready" && approval !== undefined)
    status ??= await decided(prepared.input, decide);
  const isOverride = decide !== undefined;
  const isAsked = approval !== undefined;
  const pin = await pinOf(own, input, prepared);
  const decision = isAsked || isOverride ? { pin, isAsked, isOverride } : undefined;
  Decisions.of(own.options.store).keep(call, decision);
  if (status?.type === "denied" || approval === undefined) return status;
  return {
    type: "user-approval",
    reason: `${status?.reason ?? approval.reason}\nInput: ${approval.input}`,
  };
}

type Decided = Exclude<Status, string | undefined>;

async function decided(input: unknown, decide?: Decide): Promise<Decided> {
  try {
    const status = await decide?.(input);
    return typeof status === "object" ? status : { type: status ?? "not-applicable" };
  } catch {
    // What it throws may contain a value that it was given.
    return { type: "user-approval" };
  }
}
