import { codeOf, publicMessageOf } from "../errors.ts";
import type { Cost } from "../turn/cost.ts";
import type { Facilities } from "../turn/toolbox.ts";
import { waitingCalls } from "../turn/waiting.ts";
import { resumeTurn, runTurn, type TurnOptions, type TurnResult } from "../turn/turn.ts";
import type { Cast, Equipped } from "./cast.ts";
import type { ConversationData } from "./conversation-data.ts";
import { questionOf } from "./question.ts";
import type { TurnRequest } from "./requests.ts";
import { recordTools } from "./tool-events.ts";
import type { TurnLog } from "./turn-log.ts";

export interface TurnRun {
  readonly turn: TurnRequest;
  readonly cast: Cast;
  readonly log: TurnLog;
  readonly signal: AbortSignal;
  /** What the runtime's own tools work with. */
  readonly facilities: Facilities;
  /** Of the turn so far. */
  readonly cost: () => Cost;
}

/**
 * Runs a turn in a conversation; its chunks go to the log, and what happened to the events, which the
 * caller writes. Rejects, and says so in the log, for what is wrong outside of the turn's own doing.
 */
export async function answerTurn(data: ConversationData, run: TurnRun): Promise<TurnResult> {
  const { store, history, events } = data;
  const { turn, cast, log, signal, cost, facilities } = run;
  let equipped: Equipped | undefined;
  try {
    const { approvals } = turn;
    const question = approvals === undefined ? await questionOf(turn, data) : undefined;
    if (turn.input !== undefined) await store.save({ name: "input", value: turn.input });
    const turnId = crypto.randomUUID();
    events.add({ type: "turn.started", turn: turnId });
    // Only a turn that goes on has calls of which it did not see the beginning.
    const waiting = approvals === undefined ? [] : waitingCalls(history.newest()).values();
    const record = recordTools(events, turnId, waiting);
    equipped = await cast.equip(signal);
    const options: TurnOptions = {
      ...cast,
      agent: equipped.agent,
      store,
      history,
      now: Date.now,
      newId: () => crypto.randomUUID(),
      signal,
      facilities,
      cost: () => withEventRow(cost()),
      emit: (chunk) => {
        record(chunk);
        log.push(chunk);
      },
    };
    const result = await (approvals === undefined
      ? runTurn(options, question)
      : resumeTurn(options, approvals));
    const code = result.error?.code;
    const type = code === undefined ? "turn.done" : "turn.failed";
    events.add({ turn: turnId, type, ...(code === undefined ? {} : { code }) });
    return result;
  } catch (error) {
    log.push({ type: "error", errorText: `${codeOf(error)}: ${publicMessageOf(error)}` });
    throw error;
  } finally {
    // Nobody waits for sessions to be ended.
    void equipped?.close();
  }
}

/** The row in which a turn's events are kept counts in, though it is written later. */
function withEventRow(cost: Cost): Cost {
  return { ...cost, rowsWritten: cost.rowsWritten + 1 };
}
