import type { UIMessageChunk } from "ai";
import { codeOf, publicTextOf } from "../../errors.ts";
import type { Post } from "../../turn/history/post.ts";
import type { NewEvent } from "../../turn/log/event-log.ts";
import type { PlatformServices } from "../../turn/toolbox.ts";
import type { Cost } from "../../turn/spend/spend.ts";
import type { TurnOptions } from "../../turn/turn-context.ts";
import type { ConversationContext, QueueSlot } from "../conversation-context.ts";
import type { ObservedTurn } from "../telemetry/telemetry.ts";
import type { RecordedEnd } from "../telemetry/turn-record.ts";
import type { ChosenAgent, Equipped } from "./chosen-agent.ts";

/** The start of a turn or plan run. */
export interface TurnStart extends QueueSlot {
  /** Chooses the agent. Throws for a request that has become invalid while it waited. */
  readonly chooseNow: () => ChosenAgent;
  /** The header of the request that led to the turn. */
  readonly traceparent?: ObservedTurn["traceparent"];
  /** The post that led to the turn. */
  readonly post?: Post;
}

/** A start, and where the attempt's output is recorded. */
export interface AttemptOptions<Result> extends TurnStart, ObservedTurn {
  /** Receives each chunk of the stream. */
  readonly emit: (chunk: UIMessageChunk) => void;
  /** Returns the receiver for the chunks of an agent called inside the attempt. */
  readonly emitInner: () => (chunk: UIMessageChunk) => void;
  /** The event that records the end. */
  readonly ended: (result: Result) => NewEvent;
}

/**
 * Runs an attempt: a turn or plan run between two crashes. If something outside of the work fails, writes the
 * error to the log and rejects.
 */
export async function attempt<Result>(
  context: ConversationContext,
  { data, chooseNow, emitInner, ended, ...start }: AttemptOptions<Result>,
  work: (options: TurnOptions) => Promise<Result>,
): Promise<Result> {
  const { log, signal, cost } = start;
  const { conversation, turn, kind, recovered, traceparent } = start;
  const watch = context.telemetry.watch({ conversation, turn, kind, recovered, traceparent });
  let equipped: Equipped | undefined;
  let end: RecordedEnd | undefined;
  try {
    const chosen = chooseNow();
    watch.chosen(chosen);
    equipped = await chosen.equip(signal);
    const result = await work({
      ...start,
      ...chosen,
      agent: equipped.agent,
      store: data.store,
      history: data.history,
      journal: data.journal,
      services: recordedServices(context.services, emitInner),
      spendLimits: context.setup.spendLimits,
      leases: context.leases,
      keyPrefix: String(context.state.id),
      now: Date.now,
      newId: () => crypto.randomUUID(),
      trace: watch.trace,
      cost: () => withEventRow(cost()),
      observer: watch.observer,
      onEnd: (reached) => {
        end = reached;
      },
    });
    data.events.add(ended(result));
    return result;
  } catch (error) {
    const code = codeOf(error);
    end ??= { status: code === "turn_stopped" ? "stopped" : "failed", code, cost: cost() };
    log.fail({ type: "error", errorText: publicTextOf(error) });
    throw error;
  } finally {
    // Not awaited: no response depends on the end of MCP sessions.
    void equipped?.close();
    if (end !== undefined) watch.end(end);
  }
}

function recordedServices(
  services: PlatformServices,
  emitInner: AttemptOptions<unknown>["emitInner"],
): PlatformServices {
  const { findAgent } = services;
  if (findAgent === undefined) return services;
  return {
    ...services,
    findAgent: (name) => ({ ...findAgent(name), onChunk: emitInner() }),
  };
}

/** Counts the row of the turn's events, which is written later. */
function withEventRow(cost: Cost): Cost {
  return { ...cost, rowsWritten: cost.rowsWritten + 1 };
}
