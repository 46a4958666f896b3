import * as limits from "../limits.ts";
import type { ModelMessage, UIMessageChunk } from "ai";
import { ByrefError, codeOf, messageOf } from "../errors.ts";
import { LookupWork } from "../reference/lookup.ts";
import { compact, isObject } from "../value/json.ts";
import type { PreparedWrite } from "../store/variable-store.ts";
import type { VariableStore } from "../store/variables.ts";
import { diffsOfEdited } from "../tool/edit/edited-diffs.ts";
import {
  type Prepared,
  type Ready,
  type Saved,
  type ToolRun,
  type CallFlow,
  NO_FLOW,
  type Written,
} from "../tool/wrapped-tool.ts";
import type { JournalCall } from "./log/journal.ts";
import type { TurnState } from "./log/turn-state.ts";
import { type Failed, noSuchTool, shownInput } from "../tool/policy.ts";
import type { Remaker } from "./remake.ts";
import type { Toolbox } from "./toolbox.ts";
import type { TurnContext } from "./turn-context.ts";
import type { DecidedCall, ToolCall } from "./waiting-calls.ts";
import type { Reference } from "../reference/reference.ts";
import { splitNumber } from "../store/names.ts";
import { isGuarded } from "../tool/save-target.ts";
import { clip } from "../value/characters.ts";
import type { Path } from "../value/path.ts";
import { tagsOf } from "./agent.ts";
import type { WrittenCall } from "./history/message-parts.ts";

type Messages = readonly ModelMessage[];

interface ToolCallsOptions {
  readonly tools: Toolbox;
  readonly state: TurnState;
  /** Receives each chunk. Its changes take effect at once. */
  readonly write: (chunk: UIMessageChunk) => void;
  readonly remaker: Remaker;
}

export interface Planned {
  readonly call: JournalCall;
  readonly ready: Ready;
}

interface PreparedCall<Call extends ToolCall = ToolCall> {
  readonly call: Call & Pick<JournalCall, "idempotencyKey">;
  readonly ready: Prepared;
}

/**
 * The tool calls of a turn's steps. Calls are planned, then run and saved by the caller, which writes them to the
 * journal before each of that.
 */
export class ToolCalls {
  readonly #context: TurnContext;
  readonly #options: ToolCallsOptions;
  /** By input. */
  readonly #flows = new WeakMap<object, CallFlow>();

  constructor(context: TurnContext, options: ToolCallsOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * Returns the calls that may run. All calls of a step are prepared before any of them runs, so that each
   * sees the variables as they were. If one names what another writes, none is: each is released in its turn.
   * Failures and approval requests are written at once.
   */
  async plan(calls: readonly ToolCall[], messages: Messages): Promise<readonly Planned[]> {
    for (const call of calls.slice(limits.maxBatchItems)) this.#refuse(call, TOO_MANY);
    const all = calls.slice(0, limits.maxBatchItems);
    const hasTags = tagsOf(this.#context.agent) !== undefined && all.length > 1;
    const isOrdered = hasTags || all.some((call) => this.#usesOf(call, all).length > 0);
    return isOrdered ? [] : this.#planAll(all, messages);
  }

  /**
   * Returns the decisions with the pins of the inputs that a person wrote. Such an input is checked like a model's:
   * if it may not run, throws the error, and nothing is decided. There is no pin if what the person was shown is
   * out of date: then approval of the new input is requested.
   */
  async pinned(decided: readonly DecidedCall[], messages: Messages) {
    const { approvals } = this.#options.state;
    const written = decided.filter(({ approval: { input } }) => input !== undefined);
    const prepared = await this.#prepareAll(written.map(approvedCall), messages);
    const calls = written.map(({ call }) => call);
    const waited = await this.#prepareAll(calls, messages);
    return decided.map((one): DecidedCall => {
      const at = written.indexOf(one);
      const [now, before] = [prepared[at]?.ready, waited[at]?.ready];
      if (now?.kind === "failed") throw new ByrefError(now.code, now.message);
      const asked = approvals.about(one.approval.approvalId);
      const pin = before?.kind === "ready" && before.pin === asked ? now?.pin : undefined;
      return { ...one, approval: { ...one.approval, ...compact({ pin }) } };
    });
  }

  /**
   * Returns the calls that may run after a person's decisions. If an input has changed since, the call
   * differs from the approved one, and approval is requested again.
   */
  async decide(decided: readonly DecidedCall[], messages: Messages): Promise<readonly Planned[]> {
    const { approvals } = this.#options.state;
    const allowed = decided.flatMap((one) => {
      const asked = approvals.take(one.approval.approvalId);
      const { approved, pin = asked } = one.approval;
      return approved ? [{ ...approvedCall(one), ...compact({ pin }) }] : [];
    });
    const prepared = await this.#prepareAll(allowed, messages);
    for (const one of decided) {
      const { toolCallId } = one.call;
      this.#answer(one, prepared.find(({ call }) => call.toolCallId === toolCallId)?.ready);
    }
    return prepared.flatMap((one) => this.#admit(one, one.call.pin));
  }

  /**
   * Returns the calls to run again after a crash. A tool is called again, with the same key, only if its
   * effects are declared harmless to repeat.
   */
  async recover(begun: readonly JournalCall[], messages: Messages): Promise<readonly Planned[]> {
    const { tools } = this.#options;
    const repeatable = begun.filter(({ toolName }) => tools.effectsOf(toolName) !== "once");
    for (const call of begun) if (!repeatable.includes(call)) this.#refuse(call, OUTCOME_UNKNOWN);
    const prepared = await this.#prepareAll(repeatable, messages);
    return prepared.flatMap(({ call, ready }) => {
      const [admitted] = this.#admit({ call, ready }, call.isApproved ? call.pin : undefined);
      // The key belongs to one input. With another input, the effect of the first call is unknown.
      const needsSame = tools.effectsOf(call.toolName) === "idempotent";
      const isUnknown = needsSame && admitted !== undefined && admitted.call.pin !== call.pin;
      return isUnknown ? this.#refuse(call, OUTCOME_UNKNOWN) : (admitted ?? []);
    });
  }

  /** True if a deferred call can be prepared or skipped now. */
  get canRelease(): boolean {
    return this.#next(this.#options.state.parts.calls()) !== undefined;
  }

  /** Returns the deferred call that may run now. One that reads what has not been written is refused. */
  async release(messages: Messages): Promise<readonly Planned[]> {
    const calls = this.#options.state.parts.calls();
    const call = this.#next(calls);
    if (call === undefined) return [];
    const missing = await this.#missing(call, [...calls.values()]);
    return missing === undefined ? this.#planAll([call], messages) : this.#refuse(call, missing);
  }

  /**
   * Saves the result. Undefined if it has to be prepared again, because the value that it extends has
   * changed.
   */
  save({ call, ready, save }: Finished, canRetry: boolean): UIMessageChunk | undefined {
    const { toolCallId } = call;
    if (!("commit" in save)) return errorOf(toolCallId, save);
    try {
      const { output } = save.commit();
      this.#context.account.addReferences(ready.references);
      return { type: "tool-output-available", toolCallId, output };
    } catch (error) {
      if (canRetry && codeOf(error) === "conflict") return undefined;
      return errorOf(toolCallId, failureOf(error));
    }
  }

  /** The first call without an outcome, if it is deferred. Those of the provider may get theirs in a later answer. */
  #next(calls: ReadonlyMap<string, WrittenCall>): WrittenCall | undefined {
    const { begun } = this.#options.state;
    const all = [...calls.values()];
    const first = all.find(({ outcome, isProvided }) => outcome === undefined && !isProvided);
    const isDeferred = first?.state === "input-available" && !begun.has(first.toolCallId);
    return isDeferred ? first : undefined;
  }

  /** Says what the call reads that a call before it was to write, but has not, or that only a later one brings into being. */
  async #missing(call: WrittenCall, calls: readonly WrittenCall[]): Promise<Failure | undefined> {
    const { store } = this.#context;
    const step = (one: WrittenCall) => one.place.split("/")[0];
    const inStep = calls.filter((one) => step(one) === step(call));
    for (const use of this.#usesOf(call, inStep).filter(({ isNeeded }) => isNeeded)) {
      const { source, name, writers } = use;
      const before = writers.filter((one) => inStep.indexOf(one) < inStep.indexOf(call));
      const isAbsent = store.glance(name) === undefined;
      const failing = before.find(({ outcome }) => isAbsent || outcome !== "done");
      if (failing !== undefined) return skippedFor(source, failing);
      if (before.length === 0 && !(await exists(use, store))) return skippedFor(source, writers[0]);
    }
    return undefined;
  }

  /** Returns what a call reads that others may write. */
  #usesOf<Call extends ToolCall>(call: ToolCall, others: readonly Call[]): readonly Use<Call>[] {
    const { store } = this.#context;
    const { reads } = this.#flowOf(call);
    return [...new Map(reads.map((read) => [read.source, read])).values()].flatMap((read) => {
      const mayBe = (written: Written) => mayWrite(written, read, store);
      const writers = others.filter((one) => one !== call && this.#flowOf(one).writes.some(mayBe));
      return writers.length === 0 ? [] : { ...read, writers };
    });
  }

  #flowOf({ toolName, input }: ToolCall): CallFlow {
    const key: object = Object(input);
    const flow = this.#flows.get(key) ?? this.#options.tools.get(toolName)?.flow(input) ?? NO_FLOW;
    this.#flows.set(key, flow);
    return flow;
  }

  async #planAll(calls: readonly ToolCall[], messages: Messages): Promise<readonly Planned[]> {
    const prepared = await this.#prepareAll(calls, messages);
    return prepared.flatMap((one) => this.#admit(one));
  }

  async #prepareAll<Call extends ToolCall & Partial<Pick<JournalCall, "idempotencyKey" | "pin">>>(
    calls: readonly Call[],
    messages: Messages,
  ): Promise<readonly PreparedCall<Call>[]> {
    const { signal, observer } = this.#context;
    const { tools, state, remaker } = this.#options;
    const work = new LookupWork();
    const noTool = (name: string): Failed => {
      const message = noSuchTool(name, Object.keys(tools.all));
      return { kind: "failed", code: "unknown_tool", message };
    };
    const reads = calls.flatMap((call) => this.#flowOf(call).reads);
    await remaker.make(reads.map(({ name }) => name));
    const prepared = await Promise.all(
      calls.map(async (call) => {
        const { toolName, toolCallId, input } = call;
        const key = call.idempotencyKey ?? state.keyOf(toolCallId);
        const about = { toolCallId, idempotencyKey: key, ...(call.isChanged === true && ASKING) };
        const options = { messages, signal, observer, work, ...about };
        const ready = await tools.get(toolName)?.prepare(input, options);
        return {
          call: { ...call, idempotencyKey: key },
          ready: await this.#withDiffs(ready ?? noTool(toolName), call.pin),
        };
      }),
    );
    signal.throwIfAborted();
    return prepared;
  }

  /** Adds diffs to a request for approval, unless it is for an input that was approved. */
  async #withDiffs(ready: Prepared, pin: string | undefined): Promise<Prepared> {
    if (ready.kind === "failed" || ready.approval === undefined || ready.pin === pin) return ready;
    const diffs = await diffsOfEdited(ready.variables, this.#context.store);
    return diffs.length === 0 ? ready : { ...ready, approval: { ...ready.approval, diffs } };
  }

  /** Returns the call if it may run, else nothing: it is refused, or a person is asked. `approved`: a pin. */
  #admit({ call, ready }: PreparedCall, approved?: string): readonly Planned[] {
    if (ready.kind === "failed") return this.#refuse(call, ready);
    const { pin } = ready;
    const isApproved = pin === approved;
    if (ready.approval !== undefined && !isApproved) return this.#requestApproval(call, ready);
    const { toolName, toolCallId, input, idempotencyKey, isChanged } = call;
    const about = { toolName, toolCallId, input, pin, idempotencyKey };
    const admitted = { ...about, ...compact({ isChanged }) };
    return [{ call: isApproved ? { ...admitted, isApproved } : admitted, ready }];
  }

  /** What a person was asked about stays in the message, followed by what was approved. */
  #answer({ approval, call }: DecidedCall, prepared: Prepared | undefined): void {
    const { write } = this.#options;
    const { approvalId, approved, reason, input } = approval;
    const { toolCallId, descriptor } = call;
    if (input !== undefined) {
      const request = prepared?.kind === "ready" ? prepared.approval : undefined;
      const changed = { input, resolved: request?.input ?? shownInput(input) };
      const approvalDescriptor = { ...(isObject(descriptor) && descriptor), changed };
      write({ type: "tool-approval-request", toolCallId, approvalId, approvalDescriptor });
    }
    write({ type: "tool-approval-response", approvalId, approved, ...compact({ reason }) });
    if (!approved) write({ type: "tool-output-denied", toolCallId });
  }

  #refuse({ toolCallId }: ToolCall, why: Failure): readonly Planned[] {
    this.#options.write(errorOf(toolCallId, why));
    return [];
  }

  #requestApproval(call: ToolCall, { approval, pin }: Ready): readonly Planned[] {
    const { state, write } = this.#options;
    const { toolCallId, input, isChanged } = call;
    const approvalId = this.#context.newId();
    state.approvals.ask(approvalId, pin);
    const changed = isChanged === true ? { input, resolved: approval?.input } : undefined;
    const asked = { approvalId, approvalDescriptor: { ...approval, ...compact({ changed }) } };
    write({ type: "tool-approval-request", toolCallId, ...asked });
    return [];
  }
}

/** What a person wrote runs as it was approved, or is asked about again. */
const ASKING = { needsApproval: async () => true };

/** The call with the input that a person wrote, if there is one. */
function approvedCall({ approval: { input }, call }: DecidedCall): DecidedCall["call"] {
  return input === undefined ? call : { ...call, input, isChanged: true };
}

export interface RunningCall extends Planned {
  readonly settled: Promise<void>;
  run?: ToolRun;
}

export function runningCall(planned: Planned): RunningCall {
  const settled = planned.ready.run().then((run) => {
    running.run = run;
  });
  const running: RunningCall = { ...planned, settled };
  return running;
}

/** A call that has run, with its result prepared for saving, or its failure. */
export interface Finished extends Planned {
  readonly save: PreparedWrite<Saved> | Failure;
}

/**
 * The leading calls that have finished, with their results prepared. A call that changes a variable which an
 * earlier one of them changes is left for the next commit: it extends what that one wrote.
 */
export async function preparedOf(running: readonly RunningCall[]): Promise<readonly Finished[]> {
  const finished: Finished[] = [];
  const earlier: Changes[] = [];
  for (const { call, ready, run } of running) {
    if (run === undefined) break;
    const changes = run.kind === "failed" ? [] : run.changes;
    if (!earlier.every((one) => areApart(one, changes))) break;
    earlier.push(changes);
    const save = run.kind === "failed" ? run : await run.stage().catch(failureOf);
    finished.push({ call, ready, save });
  }
  return finished;
}

type Changes = readonly string[] | undefined;

function areApart(one: Changes, other: Changes): boolean {
  if (one?.length === 0 || other?.length === 0) return true;
  return one !== undefined && other !== undefined && !one.some((name) => other.includes(name));
}

type Failure = Omit<Failed, "kind">;

function failureOf(error: unknown): Failure {
  return { code: codeOf(error), message: messageOf(error) };
}

export const OUTCOME_UNKNOWN: Failure = {
  code: "outcome_unknown",
  message: "This call was cut off: it may or may not have run. Find out before you repeat it.",
};

const TOO_MANY: Failure = {
  code: "limit_exceeded",
  message: `maxBatchItems is at most ${limits.maxBatchItems}. Make the other calls in the next step.`,
};

function errorOf(toolCallId: string, { code, message }: Failure): UIMessageChunk {
  return { type: "tool-output-error", toolCallId, errorText: `${code}: ${message}` };
}

function skippedFor(source: string, writer: Pick<ToolCall, "toolName"> | undefined): Failure {
  const from = writer?.toolName ?? "another call";
  const message = `${clip(source, MAX_SOURCE_CHARS)} was to come from ${from}, which has not written it. Make it first.`;
  return { code: "skipped", message };
}

const MAX_SOURCE_CHARS = 80;

/** A reference to what other calls of the step may write. */
type Use<Call extends ToolCall = ToolCall> = CallFlow["reads"][number] & {
  readonly writers: readonly Call[];
};

/** True if a reference can be read now. A guarded variable has all paths: which ones must not show in the order. */
async function exists({ name, path }: Reference, store: VariableStore): Promise<boolean> {
  if (store.glance(name) === undefined) return false;
  if (path.length === 0 || isGuarded(name, store)) return true;
  const reading = await store.readPath(name, path).catch(() => undefined);
  return reading === undefined || reading.found;
}

/** True if the call may write what is read. Places overlap if one is part of the other. */
export function mayWrite(written: Written, read: Reference, store: VariableStore): boolean {
  if ("path" in written) return written.name === read.name && overlap(written.path, read.path);
  if ("base" in written && written.base === read.name) return true;
  const mayBeNew =
    "prefix" in written
      ? `${read.name}_`.startsWith(`${written.prefix}_`)
      : splitNumber(read.name)?.base === written.base;
  return mayBeNew && store.glance(read.name) === undefined;
}

function overlap(one: Path, other: Path): boolean {
  return one.every((segment, at) => {
    const against = other[at];
    if (against === undefined || !("key" in segment) || !("key" in against)) return true;
    return segment.key === against.key;
  });
}
