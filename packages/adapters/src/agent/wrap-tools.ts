import {
  asSchema,
  jsonSchema,
  type JSONSchema7,
  type ModelMessage,
  type Tool,
  type ToolExecuteFunction,
  type ToolExecutionOptions,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import { ByrefError, codeOf, publicTextOf } from "../../../../src/errors.ts";
import {
  toolInputs,
  type toolOutputs,
  shownSchemas,
  policies,
  type wraps,
  toolCalls,
  type runtimeTools,
} from "../../../../src/internal-tool.ts";
import { json, Recent, Taint, type VariableStore } from "../../../../src/internal.ts";
import type { Handle, Policy, ShownValue } from "../../../../src/runtime.ts";
import { UNTRUSTED_NOTE } from "./step-prompt.ts";
import * as limits from "../../../../src/limits.ts";
import type { Json } from "../../../../src/references.ts";

/** Output of a wrapped tool: a small value in full; for a large value, its description and its name. */
export type VariableOutput<Value> =
  | (Omit<ShownValue, "value"> & { readonly value: Value })
  | Handle
  | GuardedHandle
  | NotKept;

export type WrapOptions = wraps.WrapOptions;
export type GuardedHandle = toolOutputs.GuardedHandle;
export type NotKept = toolOutputs.NotKept;

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
export function wrap(own: OwnTool, isDecided: boolean): wraps.AnyTool {
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
      const effective = decision?.changed?.input ?? input;
      const prepared = await own.prepare(effective, call, skipApproval);
      const wasApproved = isApproved(call);
      const about = { name, isDecided, wasApproved };
      return withChange(await outputOf(ifDecided(prepared, decision, about)), decision);
    },
    toModelOutput: modelOutput(tool),
  } as unknown as wraps.AnyTool;
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
export async function outputOf(prepared: wraps.Prepared): Promise<unknown> {
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
export function modelOutput({ toModelOutput }: wraps.AnyTool): ToModelOutput | undefined {
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
 * Decides about a call and stores the decision. Without `decide`, the tool's own `needsApproval` decides. The stricter
 * of that decision and the policy's counts. Undefined if the call needs no approval, for example because it will fail.
 */
async function statusOf(
  own: OwnTool,
  input: unknown,
  { call, decide }: { readonly call: Call; readonly decide?: Decide },
): Promise<Status> {
  let status: Decided | undefined;
  const isOverride = decide !== undefined;
  const needsApproval = async (value: unknown) => {
    status = await decided(value, decide);
    return status.type === "user-approval";
  };
  const prepared = await own.prepare(input, call, isOverride ? needsApproval : undefined);
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
      const prepare = async (written: unknown): Promise<wraps.Prepared> => {
        const one = await own.prepare(written, call, async () => true);
        if (one.kind === "failed") return one;
        const { type, reason } = await decided(one.input, decide);
        if (type !== "denied") return one;
        const message = `${own.name} was not allowed: ${reason ?? "toolApproval denied it."}`;
        return { kind: "failed", code: "tool_denied", message };
      };
      const waits = { input, prepare };
      const about = { pin: pinOf(prepared), requiresApproval, isOverride, waits };
      ledger.ask(call.toolCallId, { ...about, ...json.compact({ reason }) });
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

export interface Decision {
  /** The call that was decided about (`OwnTool.prepare`); undefined if it could not run. */
  readonly pin: string | undefined;
  /** True if a person has to approve the call. */
  readonly requiresApproval: boolean;
  /** True if `toolApproval` decided in place of the tool's own `needsApproval`. */
  readonly isOverride: boolean;
  /** Shown to the person, with the input that would run. */
  readonly reason?: string;
  /** The model's input, and a check of this or another one. Absent for calls that were suspended. */
  readonly waits?:
    | { readonly input: unknown; readonly prepare: (input: unknown) => Promise<wraps.Prepared> }
    | undefined;
  /** The input to run in place of the model's. */
  readonly changed?: policies.ChangedInput | undefined;
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
  input: json.JsonObject,
): Promise<string> {
  return changeIn(ledgerOf(store), toolCallId, input);
}

export async function changeIn<Asked extends Decision>(
  ledger: policies.ApprovalLedger<Asked>,
  toolCallId: string,
  input: json.JsonObject,
): Promise<string> {
  const asked = ledger.about(toolCallId);
  const { waits, changed } = asked ?? {};
  const before = await waits?.prepare(changed?.input ?? waits.input);
  const prepared = await waits?.prepare(input);
  if (asked === undefined || prepared === undefined || ledger.about(toolCallId) !== asked) {
    throw new ByrefError("approval_not_found", "The call does not wait here, or not any longer.");
  }
  if (prepared.kind === "failed") throw new ByrefError(prepared.code, prepared.message);
  if (pinOf(before) !== asked.pin) {
    const message = "A variable has changed since the person was asked. Ask again.";
    throw new ByrefError("approval_required", message);
  }
  const resolved = prepared.approval?.input ?? JSON.stringify(input);
  ledger.ask(toolCallId, { ...asked, pin: prepared.pin, changed: { input, resolved } });
  return resolved;
}

/** Returns the output of a call, with what ran in place of the model's input. */
export function withChange(output: unknown, { changed }: Pick<Decision, "changed"> = {}): unknown {
  if (changed === undefined || !json.isObject(output)) return output;
  return { ...output, note: policies.ranInstead(changed.input) };
}

/** Returns a function that makes a value for each store, at its first use. */
export function perStore<Value extends object>(
  make: (store: VariableStore) => Value,
): (store: VariableStore) => Value {
  const made = new WeakMap<VariableStore, Value>();
  return (store) => {
    const value = made.get(store) ?? make(store);
    made.set(store, value);
    return value;
  };
}

/**
 * Returns the decisions about the calls of a store, by tool call id. Decisions live as long as the store object: after
 * a restart, or in another process, the person is asked again. Beyond `maxItems`, the oldest are dropped.
 */
export const ledgerOf: (store: VariableStore) => policies.ApprovalLedger<Decision> = perStore(
  () => new policies.ApprovalLedger(new Recent<Decision>(limits.maxItems)),
);

/**
 * Returns the call, or a failure with `approval_required` if the decision was about another call. If a call needs a
 * person's approval, the person must have approved this very call. `isDecided`: without a decision it must not run.
 */
export function ifDecided(
  prepared: wraps.Prepared,
  decision: Decision | undefined,
  { name, wasApproved, isDecided }: { name: string; wasApproved: boolean; isDecided: boolean },
): wraps.Prepared {
  if (prepared.kind === "failed") return prepared;
  const wasAsked = decision?.requiresApproval === true;
  const requiresApproval = prepared.approval !== undefined || wasApproved || wasAsked;
  const isUnasked = requiresApproval && !(wasApproved && wasAsked);
  const isSame = decision === undefined ? !isDecided : decision.pin === prepared.pin;
  if (!isUnasked && isSame) return prepared;
  const message = isUnasked
    ? `A person has to approve this call of ${name}, and was not asked about it here. Call it again to ask.`
    : `${name} did not run: its input, or a variable that it refers to, has changed since the call was decided about. Call it again for a new decision.`;
  return { kind: "failed", code: "approval_required", message };
}

/** True if the SDK runs the call because the last message approves it. */
function isApproved({ toolCallId, messages }: Call): boolean {
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

/** Refuses guarded values to a tool whose input or result a model reads as it is. Never asks a person. */
export const noGuarded: Policy = ({ tool, references }) => {
  const guarded = references.find(({ visibility }) => visibility !== "model");
  if (guarded === undefined) return "allow";
  return {
    deny: `a model reads what ${tool} receives or returns, and may not read $${guarded.name}.`,
  };
};

/** The options that the SDK passes with a tool call. There is no signal when the SDK evaluates an approval. */
export type Call = ToolExecutionOptions<unknown>;

/** A tool of the AI SDK that runs in this process; `runtime`: one of the runtime's own. */
export class OwnTool {
  readonly name: string;
  readonly tool: wraps.AnyTool;
  readonly options: WrapOptions;
  readonly #runtime: runtimeTools.RuntimeTool | undefined;
  #wrapped: Promise<wraps.WrappedTool> | undefined;

  constructor(
    name: string,
    tool: wraps.AnyTool,
    options: WrapOptions,
    runtime?: runtimeTools.RuntimeTool,
  ) {
    this.name = name;
    this.tool = tool;
    this.options = options;
    this.#runtime = runtime;
  }

  /** False for a tool that a provider or the client executes. */
  static runsHere(tool: wraps.AnyTool): boolean {
    const isProviderExecuted = tool.type === "provider" && tool.isProviderExecuted;
    return !isProviderExecuted && tool.execute !== undefined;
  }

  /** True if a call of the tool may need a person's approval. */
  get mayRequireApproval(): boolean {
    const { policy, policies } = this.options;
    const requiresApproval = (policies?.[this.name]?.approval ?? false) !== false;
    const mayAsk = policy !== undefined && policy !== noGuarded;
    return this.tool.needsApproval !== undefined || mayAsk || requiresApproval;
  }

  /** The wrapped tool. A provider-defined tool that the application executes is wrapped like any other. */
  get wrapped(): Promise<wraps.WrappedTool> {
    this.#wrapped ??=
      this.#runtime === undefined
        ? toolCalls.wrapTool(this.name, this.tool, this.options)
        : toolCalls.wrapRuntimeTool(this.#runtime, this.options);
    return this.#wrapped;
  }

  /**
   * The schema that the model is shown, a promise only if the tool's own is one. A provider-defined tool has
   * its schema at the provider, which receives no other schema.
   */
  get shownSchema(): JSONSchema7 | PromiseLike<JSONSchema7> {
    if (this.tool.type === "provider") return asSchema(this.tool.inputSchema).jsonSchema;
    const schema = toolInputs.jsonSchemaOf(this.tool, this.name);
    const shownAs = (one: JSONSchema7) => this.#shownAs(one);
    return schema instanceof Promise ? schema.then(shownAs) : shownAs(schema);
  }

  #shownAs(schema: JSONSchema7): JSONSchema7 {
    return this.#runtime === undefined
      ? shownSchemas.shownSchema(this, schema).schema
      : shownSchemas.runtimeToolSchema(schema, this.#runtime);
  }

  /**
   * Resolves the references of a call and evaluates the policy, without running the tool. `needsApproval`
   * replaces the tool's own. The pin identifies the call: the tool, the input as the model wrote it, and the values
   * of its references. A client must never see it, because it is a digest of values.
   */
  async prepare(
    input: unknown,
    call: Call,
    needsApproval?: wraps.CallOptions["needsApproval"],
  ): Promise<wraps.Prepared> {
    const { toolCallId, messages, abortSignal, context, experimental_sandbox } = call;
    const sandbox = experimental_sandbox === undefined ? {} : { experimental_sandbox };
    const { prepare } = await this.wrapped;
    // The SDK parsed the input from JSON.
    const written = input as Json;
    const prepared = await prepare(written, {
      toolCallId,
      messages,
      signal: abortSignal ?? new AbortController().signal,
      extras: { context, ...sandbox },
      ...json.compact({ needsApproval }),
    });
    if (prepared.kind === "failed") return prepared;
    const digest = await toolInputs.digestOf(written);
    return { ...prepared, pin: JSON.stringify([this.name, digest, prepared.pin]) };
  }
}

export function pinOf(prepared: wraps.Prepared | undefined): string | undefined {
  return prepared?.kind === "ready" ? prepared.pin : undefined;
}

/** Maximum of evictions per call. The next call evicts the rest. */
const MAX_EVICTIONS = 1_000;

/** Evicts what is due from the store of a call. Without an alarm, that happens at the next call. */
export async function evictDue(store: VariableStore): Promise<void> {
  store.evictDue(Date.now(), MAX_EVICTIONS);
  if (store.hasGarbage()) await store.sweep();
}

/** Finds the taint of a store. It persists: data read once in a conversation stays in its prompts. */
export const taintsByStore = () => perStore(() => new Taint());
