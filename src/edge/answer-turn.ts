import { publicTextOf } from "../errors.ts";
import type { Post } from "../turn/post.ts";
import type { SpendLimits } from "../turn/spend.ts";
import type { Facilities } from "../turn/toolbox.ts";
import type { Cost } from "../turn/cost.ts";
import { recoverTurn, resumeTurn, runTurn, type TurnResult } from "../turn/turn.ts";
import type { Remains } from "../turn/log-lines.ts";
import type { TurnLog } from "../turn/turn-log.ts";
import type { TurnOptions } from "../turn/turn-options.ts";
import { decidedIn, waitingCalls } from "../turn/waiting.ts";
import type { Cast, Equipped } from "./cast.ts";
import type { ConversationData } from "./conversation-data.ts";
import { questionOf } from "./question.ts";
import type { TurnRequest } from "./requests.ts";
import { recordRemains, recordTools } from "./tool-events.ts";

export interface TurnRun {
  /** Who answers; throws where the request is found wrong only now. */
  readonly castNow: () => Cast;
  readonly log: TurnLog;
  readonly signal: AbortSignal;
  /** What the runtime's own tools work with. */
  readonly facilities: Facilities;
  readonly spendLimits: SpendLimits;
  /** Of the turn so far. */
  readonly cost: () => Cost;
  /** What has led to it. */
  readonly post?: Post;
  /** Called when the turn is about to be written down for the first time, in the same commit. */
  readonly onBegin: () => void;
}

/**
 * Runs a turn in a conversation; its chunks go to the log, and what happened to the events, which the
 * caller writes. Rejects, and says so in the log, for what is wrong outside of the turn's own doing.
 */
export async function answerTurn(
  data: ConversationData,
  turn: TurnRequest,
  run: TurnRun,
): Promise<TurnResult> {
  const { store, history, events, postKeys } = data;
  const { approvals, conversation = "" } = turn;
  const begin = (id: string) => {
    events.add({ type: "turn.started", turn: id });
    run.onBegin();
    if (run.post !== undefined) postKeys.add(run.post, id, Date.now());
  };
  if (approvals !== undefined) {
    const newest = history.newest();
    const about = { id: newest?.id ?? "", conversation, calls: waitingCalls(newest).values() };
    return play(data, { ...run, ...about }, (options) => {
      decidedIn(history.newest(), approvals);
      begin(about.id);
      return resumeTurn(options, approvals);
    });
  }
  const about = { id: crypto.randomUUID(), conversation, calls: [] };
  return play(data, { ...run, ...about }, async (options) => {
    const question = await questionOf(turn, data);
    if (turn.input !== undefined) await store.save({ name: "input", value: turn.input });
    begin(about.id);
    return runTurn(options, { ...question, id: about.id });
  });
}

/** Goes on with a turn that a crash cut off. */
export function recoverAnswer(
  data: ConversationData,
  remains: Remains,
  run: TurnRun,
): Promise<TurnResult> {
  const { id = "", conversation = "" } = data.journal.head() ?? {};
  const about = { id, conversation, calls: remains.calls };
  recordRemains(data.events, id, run.log.slice(0, 0));
  data.events.add({ type: "turn.recovered", turn: id });
  return play(data, { ...run, ...about }, (options) => {
    run.onBegin();
    return recoverTurn(options, remains);
  });
}

type Play = TurnRun & {
  /** Of the answer's message. */
  readonly id: string;
  readonly conversation: string;
  /** Those of which this attempt did not see the beginning. */
  readonly calls: Parameters<typeof recordTools>[2];
};

async function play(
  { store, history, events, journal }: ConversationData,
  { id, calls, castNow, ...run }: Play,
  work: (options: TurnOptions) => Promise<TurnResult>,
): Promise<TurnResult> {
  const { log, signal, cost } = run;
  let equipped: Equipped | undefined;
  try {
    const cast = castNow();
    equipped = await cast.equip(signal);
    const result = await work({
      ...run,
      ...cast,
      agent: equipped.agent,
      store,
      history,
      journal,
      now: Date.now,
      newId: () => crypto.randomUUID(),
      cost: () => withEventRow(cost()),
      emit: recordTools(events, id, calls),
    });
    const code = result.error?.code;
    const type = code === undefined ? "turn.done" : "turn.failed";
    events.add({ turn: id, type, ...(code === undefined ? {} : { code }) });
    return result;
  } catch (error) {
    log.fail({ type: "error", errorText: publicTextOf(error) });
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
