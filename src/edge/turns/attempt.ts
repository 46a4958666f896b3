import type { UIMessageChunk } from "ai";
import { codeIn, limitOf, publicErrorOf, publicTextOf } from "../../errors.ts";
import type { Post } from "../../turn/history/post.ts";
import {
  type EventLog,
  eventVariable,
  type NewEvent,
  withShortNames,
} from "../../turn/log/event-log.ts";
import { withUser } from "../../store/user-variables.ts";
import type { TurnOptions } from "../../turn/turn-context.ts";
import { compact } from "../../value/json.ts";
import { ofTenant } from "../auth/forwarded-identity.ts";
import type { ConversationContext, QueueSlot } from "../conversation-context.ts";
import type { ConversationData } from "../conversation-data.ts";
import { userScopeOf } from "../user-object.ts";
import { logFailure, logIfFailure, placeIn } from "../log-failure.ts";
import type { ObservedTurn } from "../telemetry/telemetry.ts";
import type { RecordedEnd } from "../telemetry/trace.ts";
import type { Equipped } from "../../turn/delegate-tool.ts";
import type { RecoveredLog } from "../../turn/log/recovery.ts";
import { Attempt } from "../../turn/turn.ts";
import { type AgentChoice, type ChosenAgent, fallbackFor } from "./chosen-agent.ts";
import type { QueuedTurn } from "./turn-queue.ts";
import type { EvictionReason, VariableInfo } from "../../store/variable.ts";
import type { ToolCall } from "../../turn/waiting-calls.ts";
import type { TurnHead } from "../../turn/log/journal.ts";
import type { Frame } from "../../turn/log/turn-log.ts";

/** The start of an attempt at a turn or plan run. */
interface AttemptStart extends QueueSlot, ObservedTurn {
  /** Chooses the agent. Throws for a request that has become invalid while it waited. */
  readonly chooseNow: () => ChosenAgent;
  /** The post that led to the turn. */
  readonly post?: Post;
  /** Calls that began before this attempt. */
  readonly calls?: Iterable<ToolCall>;
}

/** The start of a turn, which has no id yet. */
export type TurnStart = Omit<AttemptStart, "conversation" | "turn">;

/** A run that begins or has waited for a person, or one that a crash has interrupted. */
type RunPlace =
  | (AgentChoice & { readonly id: string; readonly traceparent: string | null })
  | { readonly recovers: TurnHead };

/**
 * Queues an attempt at a run of a feature, such as a plan's: `work` begins, resumes or retries the attempt, runs it and
 * ends it. Throws `rate_limited` if the queue is full.
 */
export function queueRun<Result>(
  context: ConversationContext,
  place: RunPlace,
  work: (attempt: Attempt, data: ConversationData) => Promise<Result>,
): QueuedTurn<Result> {
  if ("recovers" in place) {
    return queueRecovered(context, place.recovers, (start, recoveredLog) =>
      attempt(context, start, (options) => work(Attempt.next(options, recoveredLog), start.data)),
    );
  }
  const { id: turn, traceparent, ...choice } = place;
  const { conversation } = choice.asked;
  const chooseNow = () => context.chooseAgent(choice);
  const about = { conversation, turn, kind: "run", traceparent, chooseNow } as const;
  return context.enqueue((slot) =>
    attempt(context, { ...slot, ...about }, (options) =>
      work(Attempt.ofRun(options, turn), slot.data),
    ),
  );
}

/** Queues what continues a turn or run after a crash, and after a pause. Logs its failure. */
export function queueRecovered<Result>(
  context: ConversationContext,
  head: TurnHead,
  work: (start: AttemptStart, recoveredLog: RecoveredLog) => Promise<Result>,
): QueuedTurn<Result> {
  const { id: turn, kind, agent: name, asker, conversation, trace: traceparent } = head;
  const about = { conversation, turn, kind, traceparent, recovered: true } as const;
  const chooseNow = () => {
    const choice = { name, asked: context.askedBy(ofTenant(asker, context), conversation) };
    try {
      return context.chooseAgent(choice);
    } catch (error) {
      return fallbackFor(choice, error);
    }
  };
  const queued = context.enqueue(async (slot) => {
    const recoveredLog = slot.log.recover(slot.data.journal);
    await context.pauseBeforeRetry(recoveredLog, slot.signal);
    return work({ ...slot, ...about, chooseNow }, recoveredLog);
  });
  queued.result.catch((error: unknown) => logFailure(error, placeIn(context, kind ?? "turn")));
  return queued;
}

/**
 * Runs an attempt: a turn or plan run between two crashes. If something outside of the work fails, writes the
 * error to the log and rejects.
 */
export async function attempt<Result>(
  context: ConversationContext,
  { data, chooseNow, calls, ...start }: AttemptStart,
  work: (options: TurnOptions) => Promise<Result>,
): Promise<Result> {
  const { log, signal, cost } = start;
  const { conversation, turn, kind, queuedMs, recovered, traceparent } = start;
  const about = { conversation, turn, kind, queuedMs, recovered, traceparent };
  const watch = context.telemetry.watch(about);
  const subject = kind === "run" ? { run: turn } : { turn };
  let equipped: Equipped | undefined;
  let end: RecordedEnd | undefined;
  try {
    const chosen = chooseNow();
    const { tenant, principal, claims } = chosen.asked;
    watch.chosen(chosen);
    equipped = await chosen.equip(signal, turn);
    const { agent } = equipped;
    const user = userScopeOf(context, chosen.asked);
    const services = context.servicesFor({ ...chosen.asked, turn });
    // What a called agent does belongs to the turn or run.
    const findAgent = (name: string) => {
      return { ...services.findAgent(name), onChunk: recordTools(data.events, subject) };
    };
    const result = await work({
      ...start,
      ...chosen,
      agent,
      store: withUser(data.store, user, agent.userScope),
      user,
      history: data.history,
      journal: data.journal,
      asker: { tenant, ...compact({ principal, claims }) },
      emit: recordTools(data.events, subject, calls),
      services: { ...services, findAgent },
      spendLimits: context.setup.spendLimits,
      leases: context.leases,
      keyPrefix: String(context.state.id),
      now: Date.now,
      newId: () => crypto.randomUUID(),
      trace: watch.trace,
      observer: watch.observer,
      timeline: watch.timeline,
      onFailure: (error) => logIfFailure(error, placeIn(context, kind ?? "turn")),
      onEnd: (reached) => {
        end = reached;
      },
    });
    if (kind !== "run") data.events.add(turnEnded(turn, end));
    const { summarize } = equipped.agent;
    const summary = summarize && data.history.summarize(summarize, () => context.data === data);
    // No turn waits for it; if it fails, the outline stays.
    const log = (error: unknown) => void logFailure(error, placeIn(context, "summary"));
    if (summary !== undefined) context.state.waitUntil(summary.catch(log));
    return result;
  } catch (error) {
    const { code, ...about } = publicErrorOf(error);
    const status = code === "turn_stopped" ? "stopped" : "failed";
    end ??= { status, ...compact({ code, limit: limitOf(about) }), cost: cost() };
    log.fail({ type: "error", errorText: publicTextOf(error) });
    throw error;
  } finally {
    // Not awaited: no response depends on the end of MCP sessions.
    void equipped?.close();
    if (end !== undefined) watch.end(end);
  }
}

function turnEnded(turn: string, end: RecordedEnd | undefined): NewEvent {
  if (end?.code === undefined) return { turn, type: "turn.done" };
  return { turn, type: "turn.failed", ...compact({ code: end.code, limit: end.limit }) };
}

/** Adds an event for each tool call and outcome among the chunks that the turn emits. */
function recordTools(
  events: Pick<EventLog, "add">,
  about: Pick<NewEvent, "turn" | "run">,
  waiting: Iterable<ToolCall> = [],
): (chunk: UIMessageChunk) => void {
  const tools = new Map(Array.from(waiting, ({ toolCallId, toolName }) => [toolCallId, toolName]));
  return (chunk) => {
    if (!("toolCallId" in chunk)) return;
    const { type, toolCallId } = chunk;
    if (type === "tool-input-available") tools.set(toolCallId, chunk.toolName);
    const call = { ...about, tool: tools.get(toolCallId) ?? "", toolCallId };
    if (type === "tool-input-available") events.add({ type: "tool.called", ...call });
    if (type === "tool-output-available") events.add({ type: "tool.done", ...call });
    if (type === "tool-output-error")
      events.add({ type: "tool.failed", ...call, code: codeIn(chunk.errorText) });
  };
}

/** The events of a turn's start, and of the decisions with which it continues. */
export function startEvents(
  head: Pick<TurnHead, "id" | "asker" | "approvals">,
): readonly NewEvent[] {
  const { id: turn, asker, approvals = [] } = head;
  const decided = approvals.map(({ approvalId: approval, approved, input, ...by }) => {
    const changed = input === undefined ? {} : { changed: true as const };
    return decidedEvent({ turn, approval, ...changed }, approved, by);
  });
  return [...decided, { type: "turn.started", turn, ...compact({ principal: asker?.principal }) }];
}

/** The event of a decision on a call or a gate. */
export function decidedEvent(
  about: Pick<NewEvent, "turn" | "run" | "approval" | "changed">,
  approved: boolean,
  { principal }: { readonly principal?: string },
): NewEvent {
  const type = approved ? "approval.granted" : "approval.denied";
  return { type, ...about, ...compact({ principal }) };
}

/**
 * Adds the events that an interrupted attempt has lost, because events are written when a turn ends. Their
 * times are lost.
 */
export function recordRemains(
  events: EventLog,
  head: Pick<TurnHead, "id" | "asker" | "approvals">,
  frames: readonly Frame[],
): void {
  const known = new Set(events.recent().map(keyOf));
  const add = (event: NewEvent) => {
    if (!known.has(keyOf(withShortNames(event)))) events.add(event);
  };
  for (const event of startEvents(head)) add(event);
  const record = recordTools({ add }, { turn: head.id });
  for (const { data } of frames) {
    // The log encoded a chunk.
    const chunk = JSON.parse(data) as UIMessageChunk;
    if (chunk.type === "data-variable") add(variableEvent(chunk.data));
    else record(chunk);
  }
}

function variableEvent(data: unknown): NewEvent {
  // The turn encoded a variable's info, or one with the reason of a tombstone.
  const { reason, ...info } = data as VariableInfo & { readonly reason?: EvictionReason };
  const variable = eventVariable(info);
  if (reason === undefined) return { type: "variable.saved", variable };
  return { type: "variable.evicted", variable, reason };
}

function keyOf({ type, turn, toolCallId, approval, variable }: NewEvent): string {
  if (variable === undefined) return [type, turn, toolCallId ?? approval].join(" ");
  return [type, variable.name, variable.version].join(" ");
}
