import type { UIMessageChunk } from "ai";
import { codeOf, publicTextOf } from "../../errors.ts";
import type { Cost } from "../../turn/spend/cost.ts";
import type { NewEvent } from "../../turn/log/event-log.ts";
import type { Post } from "../../turn/history/post.ts";
import type { Facilities } from "../../turn/toolbox.ts";
import type { TurnOptions } from "../../turn/turn-options.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { Watched } from "../telemetry/telemetry.ts";
import type { RecordedEnd } from "../telemetry/turn-record.ts";
import type { ChosenAgent, Equipped } from "./chosen-agent.ts";
import type { TurnContext } from "./turn-queue.ts";

/** What a turn, or a run of a plan, begins with. */
export interface TurnStart extends TurnContext {
  /** Who answers; throws where the request is found wrong only now. */
  readonly chooseNow: () => ChosenAgent;
  /** The header of the request that has led to it. */
  readonly traceparent?: Watched["traceparent"];
  /** What has led to it. */
  readonly post?: Post;
}

/** What `attempt` works with: the start of it, and who is told. */
export interface AttemptOptions<Result> extends TurnStart, Watched {
  /** Told of each chunk of the stream. */
  readonly emit: (chunk: UIMessageChunk) => void;
  /** Notes what happens to the calls of agents that are asked inside of this. */
  readonly emitInner: () => (chunk: UIMessageChunk) => void;
  /** What is noted of the end. */
  readonly ended: (result: Result) => NewEvent;
}

/**
 * Does the work with all that it needs. Rejects, and says so in the log, for what is wrong outside of the
 * work's own doing.
 */
export async function attempt<Result>(
  { store, history, events, journal }: ConversationData,
  { chooseNow, ended, emitInner, telemetry, ...start }: AttemptOptions<Result>,
  work: (options: TurnOptions) => Promise<Result>,
): Promise<Result> {
  const { log, signal, cost } = start;
  const { conversation, turn, kind, recovered, traceparent } = start;
  const watch = telemetry.watch({ conversation, turn, kind, recovered, traceparent });
  let equipped: Equipped | undefined;
  let end: RecordedEnd | undefined;
  try {
    const chosen = chooseNow();
    watch.chosen(chosen);
    equipped = await chosen.equip(signal);
    const result = await work({
      ...start,
      ...chosen,
      facilities: noted(start.facilities, emitInner),
      agent: equipped.agent,
      store,
      history,
      journal,
      now: Date.now,
      newId: () => crypto.randomUUID(),
      trace: watch.trace,
      cost: () => withEventRow(cost()),
      observer: watch.observer,
      onEnd: (told) => {
        end = told;
      },
    });
    events.add(ended(result));
    return result;
  } catch (error) {
    const code = codeOf(error);
    end ??= { status: code === "turn_stopped" ? "stopped" : "failed", code, cost: cost() };
    log.fail({ type: "error", errorText: publicTextOf(error) });
    throw error;
  } finally {
    // Nobody waits for sessions to be ended.
    void equipped?.close();
    if (end !== undefined) watch.end(end);
  }
}

function noted(
  facilities: Facilities,
  emitInner: AttemptOptions<unknown>["emitInner"],
): Facilities {
  const { colleague } = facilities;
  if (colleague === undefined) return facilities;
  return {
    ...facilities,
    colleague: (name) => ({ ...colleague(name), onChunk: emitInner() }),
  };
}

/** The row in which a turn's events are kept counts in, though it is written later. */
function withEventRow(cost: Cost): Cost {
  return { ...cost, rowsWritten: cost.rowsWritten + 1 };
}
