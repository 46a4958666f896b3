import type { ModelMessage, ToolLoopAgentSettings, ToolSet } from "ai";
import { ByrefError } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { json, type JsonObject, Recent, type VariableStore } from "../../../../src/internal.ts";
import {
  ApprovalLedger,
  type ChangedInput,
  type Prepared,
  ranInstead,
  type WrapOptions,
} from "../../../../src/internal-tool.ts";
import { type Call, OwnTool, type PinnedCall } from "./own-tool.ts";

type ToolApproval = NonNullable<ToolLoopAgentSettings<never, ToolSet>["toolApproval"]>;
type ForAll = Extract<ToolApproval, CallableFunction>;
type ForOne = Exclude<ToolApproval, CallableFunction>[string];
type Status = Awaited<ReturnType<ForAll>>;

/** Decides about one call by its input with references resolved. */
type Decide = (input: unknown) => Status | PromiseLike<Status>;

/**
 * `toolApproval` for tools of `wrapTools` with the same options. Its functions receive the input that would
 * run, with references resolved and checked by the tool's schema. A person sees the same input in the reason
 * of the request. Only the call that was decided about may run; another call fails with `approval_required`,
 * which asks the model to call again. A call whose references cannot be resolved fails without a decision.
 * If one of the functions throws, a person has to approve the call.
 */
export function wrapToolApproval(
  approval: ToolApproval | undefined,
  tools: ToolSet,
  options: WrapOptions,
): ToolApproval {
  const own = (name: string): OwnTool | undefined => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    const isOwn = tool !== undefined && OwnTool.runsHere(tool);
    return isOwn ? new OwnTool(name, tool, options) : undefined;
  };
  if (typeof approval === "function") {
    return async (given) => {
      const { toolCall, messages, toolsContext } = given;
      const { toolCallId, toolName, input } = toolCall;
      const tool = own(toolName);
      if (tool === undefined) return approval(given);
      // The SDK's type of the contexts depends on the tools.
      const contexts: Readonly<Record<string, unknown>> = toolsContext ?? {};
      const call = { toolCallId, messages, context: contexts[toolName] };
      // The same call, with the input that the tool's schema returned.
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
    const isDecidedHere = tool !== undefined && (forOne !== undefined || tool.mayRequireApproval);
    return [name, isDecidedHere ? approvalOf(tool, forOne) : forOne];
  });
  return Object.fromEntries(entries.filter(([, forOne]) => forOne !== undefined));
}

/** True if the application's `toolApproval` decides about calls of the tool. */
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

/**
 * Decides about a call and stores the decision. Without `decide`, the tool's own `needsApproval` decides. The
 * stricter of that decision and the policy's counts. Undefined if the call needs no approval, for example
 * because it will fail.
 */
export async function statusOf(
  own: OwnTool,
  input: unknown,
  { call, decide }: { readonly call: Call; readonly decide?: Decide },
): Promise<Status> {
  let status: Decided | undefined;
  const needsApproval = async (value: unknown) => {
    status = await decided(value, decide);
    return status.type === "user-approval";
  };
  const isOverride = decide !== undefined;
  const { prepared, pin } = await own.prepare(input, call, isOverride ? needsApproval : undefined);
  const approval = prepared.kind === "ready" ? prepared.approval : undefined;
  const requiresApproval = approval !== undefined;
  // The application may still deny a call that the policy has a person approve.
  if (prepared.kind === "ready" && requiresApproval)
    status ??= await decided(prepared.input, decide);
  const reason =
    status?.type === "denied" || approval === undefined
      ? undefined
      : `${status?.reason ?? approval.reason}\nInput: ${approval.input}`;
  // The SDK decides again about a call that a person has approved: the decision from the time of the request stays.
  if (!isApproved(call)) {
    const ledger = ledgerOf(own.options.store);
    ledger.take(call.toolCallId);
    if (requiresApproval || isOverride) {
      const prepare = async (written: unknown): Promise<PinnedCall> => {
        const one = await own.prepare(written, call, async () => true);
        if (one.prepared.kind === "failed") return one;
        const { type, reason } = await decided(one.prepared.input, decide);
        if (type !== "denied") return one;
        const message = `${own.name} was not allowed: ${reason ?? "toolApproval denied it."}`;
        return { prepared: { kind: "failed", code: "tool_denied", message }, pin: undefined };
      };
      const waits = { input, prepare };
      const decision = { pin, requiresApproval, isOverride, waits, ...json.compact({ reason }) };
      ledger.ask(call.toolCallId, decision);
    }
  }
  return reason === undefined ? status : { type: "user-approval", reason };
}

type Decided = Exclude<Status, string | undefined>;

async function decided(input: unknown, decide?: Decide): Promise<Decided> {
  try {
    const status = await decide?.(input);
    return typeof status === "object" ? status : { type: status ?? "not-applicable" };
  } catch {
    // The error may contain a value from the input, so it is not shown.
    return { type: "user-approval" };
  }
}

/** A decision about a call before it runs. */
export interface Decision {
  /** The call that was decided about (`PinnedCall.pin`); undefined if it could not run. */
  readonly pin: string | undefined;
  /** True if a person has to approve the call. */
  readonly requiresApproval: boolean;
  /** True if `toolApproval` decided in place of the tool's own `needsApproval`. */
  readonly isOverride: boolean;
  /** Shown to the person, with the input that would run. */
  readonly reason?: string;
  /** The model's input, and a check of this or another one. Absent for calls that were suspended. */
  readonly waits?: Waits | undefined;
  /** The input to run in place of the model's. */
  readonly changed?: ChangedInput | undefined;
}

interface Waits {
  readonly input: unknown;
  readonly prepare: (input: unknown) => Promise<PinnedCall>;
}

/**
 * Gives a waiting call another input than the model's: when the person's approval arrives, it runs in place of it. It may
 * have references, and is checked like the model's. Returns it with values, as text, shortened, to show to the person.
 * Throws the error of an input that may not run, `approval_required` if what the person was shown is out of date, and
 * `approval_not_found` for a call that does not wait here: nothing has changed then.
 */
export function changeInput(
  store: VariableStore,
  toolCallId: string,
  input: JsonObject,
): Promise<string> {
  return changeIn(ledgerOf(store), toolCallId, input);
}

export async function changeIn<Asked extends Decision>(
  ledger: ApprovalLedger<Asked>,
  toolCallId: string,
  input: JsonObject,
): Promise<string> {
  const asked = ledger.about(toolCallId);
  const { waits, changed } = asked ?? {};
  const before = await waits?.prepare(changed?.input ?? waits.input);
  const { prepared, pin } = (await waits?.prepare(input)) ?? {};
  if (asked === undefined || prepared === undefined || ledger.about(toolCallId) !== asked) {
    throw new ByrefError("approval_not_found", "The call does not wait here, or not any longer.");
  }
  if (prepared.kind === "failed") throw new ByrefError(prepared.code, prepared.message);
  if (before?.pin !== asked.pin) {
    const message = "A variable has changed since the person was asked. Ask again.";
    throw new ByrefError("approval_required", message);
  }
  const resolved = prepared.approval?.input ?? JSON.stringify(input);
  ledger.ask(toolCallId, { ...asked, pin, changed: { input, resolved } });
  return resolved;
}

/** Returns the output of a call, with what ran in place of the model's input. */
export function withChange(output: unknown, { changed }: Pick<Decision, "changed"> = {}): unknown {
  if (changed === undefined || !json.isObject(output)) return output;
  return { ...output, note: ranInstead(changed.input) };
}

const ledgers = new WeakMap<VariableStore, ApprovalLedger<Decision>>();

/**
 * Returns the decisions about the calls of a store, by tool call id. Decisions live as long as the store object: after
 * a restart, or in another process, the person is asked again. Beyond `maxItems`, the oldest are dropped.
 */
export function ledgerOf(store: VariableStore): ApprovalLedger<Decision> {
  const ledger = ledgers.get(store) ?? new ApprovalLedger(new Recent<Decision>(limits.maxItems));
  ledgers.set(store, ledger);
  return ledger;
}

/** A call whose approval is decided and that is about to run. */
interface DecidedCall {
  readonly name: string;
  /** True if a person has approved the call. */
  readonly wasApproved: boolean;
  /** True if a call without a decision must not run. */
  readonly isDecided: boolean;
}

/**
 * Returns the call, or a failure with `approval_required` if the decision was about another call. If a call needs a
 * person's approval, the person must have approved this very call.
 */
export function ifDecided(
  { prepared, pin }: PinnedCall,
  decision: Decision | undefined,
  { name, wasApproved, isDecided }: DecidedCall,
): Prepared {
  if (prepared.kind === "failed") return prepared;
  const wasAsked = decision?.requiresApproval === true;
  const requiresApproval = prepared.approval !== undefined || wasApproved || wasAsked;
  const isUnasked = requiresApproval && !(wasApproved && wasAsked);
  const isSame = decision === undefined ? !isDecided : decision.pin === pin;
  if (!isUnasked && isSame) return prepared;
  const message = isUnasked
    ? `A person has to approve this call of ${name}, and was not asked about it here. Call it again to ask.`
    : `${name} did not run: its input, or a variable that it refers to, has changed since the call was decided about. Call it again for a new decision.`;
  return { kind: "failed", code: "approval_required", message };
}

/** True if the SDK runs the call because the last message approves it. */
export function isApproved({ toolCallId, messages }: Call): boolean {
  return answeredCalls(messages, true).has(toolCallId);
}

/** A denial is final: a client that sends an older history cannot approve the call any more. */
export function closeDenied(store: VariableStore, messages: readonly ModelMessage[]): void {
  for (const toolCallId of answeredCalls(messages, false)) ledgerOf(store).take(toolCallId);
}

/** The ids of the calls that the last message approves, or denies. */
function answeredCalls(messages: readonly ModelMessage[], approved: boolean): ReadonlySet<string> {
  const last = messages.at(-1);
  const answered = new Set<string>();
  for (const part of last?.role === "tool" ? last.content : []) {
    const isOne = part.type === "tool-approval-response" && part.approved === approved;
    if (isOne) answered.add(part.approvalId);
  }
  if (answered.size === 0) return answered;
  const parts = messages.flatMap(({ role, content }) =>
    role === "assistant" && typeof content !== "string" ? content : [],
  );
  const calls = parts.flatMap((part) =>
    part.type === "tool-approval-request" && answered.has(part.approvalId) ? [part.toolCallId] : [],
  );
  return new Set(calls);
}
