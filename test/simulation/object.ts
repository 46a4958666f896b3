import { ByrefError } from "../../src/errors.ts";
import type { Sql } from "../../src/store/rows/sql.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { History } from "../../src/turn/history/history.ts";
import { Journal } from "../../src/turn/log/journal.ts";
import { readLog, recoveryDelayMs } from "../../src/turn/log/recovery.ts";
import type { ApprovalResponse } from "../../src/turn/waiting-calls.ts";
import { recoverTurn, resumeTurn, runTurn, type TurnResult } from "../../src/turn/turn.ts";
import { TurnLog } from "../../src/turn/log/turn-log.ts";
import type { TurnOptions } from "../../src/turn/turn-context.ts";
import { userMessage } from "../support/turn.ts";
import { agentOf, modelOf, questionText } from "./actors.ts";
import type { Plan } from "./plan.ts";
import type { World } from "./world.ts";

/** A user's request. */
export type Request =
  | { readonly kind: "ask"; readonly turn: number }
  | {
      readonly kind: "decide";
      readonly turn: number;
      readonly approvals: readonly ApprovalResponse[];
    };

export const answerId = (turn: number): string => `answer-${turn}`;

/** The memory of an object, which a crash takes away. Uses the layers below as `edge` does. */
export class SimulatedObject {
  readonly sql: Sql;
  readonly store: VariableStore;
  readonly history: History;
  readonly journal: Journal;
  /** The log of the newest turn. */
  log: TurnLog;
  /** Milliseconds that each recovery has waited. */
  readonly delays: number[] = [];
  readonly #world: World;
  readonly #plan: Plan;
  #stopping = new AbortController();
  #isDead = false;

  constructor(world: World, plan: Plan) {
    this.#world = world;
    this.#plan = plan;
    world.objects++;
    this.sql = world.database.connect(() => this.#isDead);
    this.store = new SqlStore(this.sql, {
      now: () => world.clock.nowMs,
      newId: () => world.newId("body"),
      bucket: { blobs: world.bucket(), prefix: "" },
    });
    this.history = new History(this.sql);
    this.journal = new Journal(this.sql);
    this.log = this.#newLog();
    if (this.store.hasGarbage()) void this.store.sweep();
  }

  /** Consecutive tries of the turn without progress if this one died now. */
  get deathsIfItDies(): number {
    if (this.journal.head()?.isOpen !== true) return 0;
    return readLog(this.journal.read()).deaths;
  }

  die(): void {
    this.#isDead = true;
  }

  /** Stops the running turn, as a user would. */
  stop(): void {
    this.#stopping.abort(new ByrefError("turn_stopped", "The turn was stopped."));
    this.#world.stop();
  }

  play(request: Request): Promise<TurnResult> {
    this.#start();
    const { turn } = request;
    const options = this.#options();
    if (request.kind === "decide") return resumeTurn(options, request.approvals);
    const message = userMessage(`question-${turn}`, questionText(turn));
    return runTurn(options, { id: answerId(turn), message });
  }

  async recover(): Promise<TurnResult> {
    this.#start();
    const recoveredLog = this.log.recover(this.journal);
    const delayMs = recoveryDelayMs(recoveredLog, this.#world.clock.nowMs);
    this.delays.push(delayMs);
    await this.#world.wait();
    this.#world.clock.nowMs += delayMs;
    return recoverTurn(this.#options(), recoveredLog);
  }

  #start(): void {
    this.log = this.#newLog();
    this.#stopping = new AbortController();
    this.#world.start();
  }

  #newLog(): TurnLog {
    return new TurnLog({
      now: () => this.#world.clock.nowMs,
      durable: () => this.#world.outside(),
    });
  }

  #options(): TurnOptions {
    const world = this.#world;
    return {
      agent: agentOf(world),
      model: modelOf(this.#plan, world),
      store: this.store,
      history: this.history,
      journal: this.journal,
      log: this.log,
      conversation: "simulated",
      keyPrefix: "simulated",
      now: () => world.clock.nowMs,
      newId: () => world.newId("id"),
      signal: this.#stopping.signal,
      cost: () => ({ rowsRead: 0, rowsWritten: 0, alarms: 0 }),
      sleep: async (delayMs) => {
        await world.wait();
        world.clock.nowMs += delayMs;
      },
    };
  }
}
