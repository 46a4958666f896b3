import type { ToolSet, UIMessageChunk } from "ai";
import { ByrefError } from "../../src/errors.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import type { SqlValue } from "../../src/store/rows/sql.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { History } from "../../src/turn/history/history.ts";
import { Journal } from "../../src/turn/log/journal.ts";
import type { QuotaService } from "../../src/turn/spend/spend.ts";
import { recoverTurn, resumeTurn, runTurn } from "../../src/turn/turn.ts";
import type { ApprovalResponse } from "../../src/turn/waiting-calls.ts";
import type { PlatformServices } from "../../src/turn/toolbox.ts";
import { type Frame, TurnLog } from "../../src/turn/log/turn-log.ts";
import { NodeSql } from "./node-sql.ts";
import { scriptedModel, type Step } from "../../packages/testing/src/testing.ts";
import { START_MS, userMessage } from "./turn.ts";

let onHang = () => {};

/** Never settles. Makes the current run return, as if its process had ended. */
export function hang(): Promise<never> {
  onHang();
  return new Promise<never>(() => {});
}

/** A database that has no room for some rows. */
class RefusingSql extends NodeSql {
  /** Rows that contain this text. */
  refused: string | undefined;

  override run(statement: string, ...bindings: readonly SqlValue[]): void {
    const { refused } = this;
    const isRefused = (value: SqlValue) => refused !== undefined && String(value).includes(refused);
    if (bindings.some(isRefused)) throw new ByrefError("storage_full", "There is no room.");
    super.run(statement, ...bindings);
  }
}

/** A conversation as one process sees it. */
type Process = { readonly store: SqlStore; readonly history: History; readonly journal: Journal };

/** A conversation whose processes can end. Memory is then lost, and pending work never completes. */
export class Crashing {
  readonly sql = new RefusingSql();
  readonly agent: Agent;
  nowMs = START_MS;
  leases: QuotaService | undefined;
  readonly #services: PlatformServices;
  #ids = 0;
  #process: Process;

  constructor(tools: ToolSet, about: Partial<Agent> = {}, services: PlatformServices = {}) {
    this.#services = { ...services };
    this.agent = { name: "a", description: "", instructions: "", tools, ...about };
    this.#process = this.#start();
  }

  get history(): History {
    return this.#process.history;
  }

  get store(): SqlStore {
    return this.#process.store;
  }

  /** Runs until nothing is pending. */
  async run(...steps: readonly Step[]) {
    const log = this.#newLog();
    const running = runTurn(this.#options(log, steps), { message: userMessage("q", "Go.") });
    return this.#settled(running, log);
  }

  /** Replaces the first question. */
  async edit(question: string, ...steps: readonly Step[]) {
    const log = this.#newLog();
    const { history } = this;
    const replace = () => history.removeFrom("q");
    const message = userMessage("q", question);
    return this.#settled(runTurn(this.#options(log, steps), { message, replace }), log);
  }

  async approve(approvalId: string, ...steps: readonly Step[]) {
    return this.decide({ approvalId, approved: true }, ...steps);
  }

  async decide(decision: ApprovalResponse, ...steps: readonly Step[]) {
    const log = this.#newLog();
    return this.#settled(resumeTurn(this.#options(log, steps), [decision]), log);
  }

  /** Ends the process, and continues in another one. */
  async recover(...steps: readonly Step[]) {
    this.crash();
    return this.retry(...steps);
  }

  /** Retries in the same process. */
  async retry(...steps: readonly Step[]) {
    const { journal } = this.#process;
    const log = this.#newLog();
    const recoveredLog = log.recover(journal);
    const running = recoverTurn(this.#options(log, steps), recoveredLog);
    return { ...(await this.#settled(running, log)), recoveredLog };
  }

  /** Ends the process, and starts another one. */
  crash(): Process {
    this.#process = this.#start();
    return this.#process;
  }

  #start(): Process {
    const { sql } = this;
    migrate(sql);
    const store = new SqlStore(sql);
    const journal = new Journal(sql);
    // Does what every conversation does when it wakes.
    const { id = "", needs = [] } = journal.head() ?? {};
    for (const name of needs) store.holds.hold(id, name);
    return { store, history: new History(sql), journal };
  }

  async #settled(running: ReturnType<typeof runTurn>, log: TurnLog) {
    const hung = new Promise<undefined>((resolve) => {
      onHang = () => setImmediate(() => resolve(undefined));
    });
    let error: unknown;
    const failed = running.catch((thrown: unknown) => {
      error = thrown;
      return undefined;
    });
    const result = await Promise.race([failed, hung]);
    const frames = log.slice(0, 0);
    const types = chunksOf(frames).map(({ type }) => type);
    return { result, error, frames, types, journal: this.#process.journal };
  }

  #newLog(): TurnLog {
    return new TurnLog({ now: () => this.nowMs });
  }

  #options(log: TurnLog, steps: readonly Step[]) {
    return {
      ...this.#process,
      agent: this.agent,
      model: scriptedModel(steps),
      services: this.#services,
      log,
      leases: this.leases,
      conversation: "c",
      keyPrefix: "c",
      now: () => this.nowMs,
      newId: () => `id_${++this.#ids}`,
      signal: new AbortController().signal,
      cost: () => ({ rowsRead: 0, rowsWritten: 0, alarms: 0 }),
      sleep: async () => undefined,
    };
  }
}

export function chunksOf(frames: readonly Frame[]): readonly UIMessageChunk[] {
  return frames.map(({ data }) => JSON.parse(data) as UIMessageChunk);
}
