import { type Sql, sqlRows } from "../../../../src/internal.ts";

/** Calls `sweep` of the variables at a time. */
export abstract class SweepAlarm {
  #last: Promise<void> = Promise.resolve();

  /**
   * Makes sure that it calls at that time or earlier, in milliseconds since 1970. Infinity: nothing is due.
   */
  setBy(dueMs: number): Promise<void> {
    const set = this.#last.then(() => this.setNext(dueMs));
    this.#last = set.catch(() => undefined);
    return set;
  }

  protected abstract setNext(dueMs: number): Promise<void>;
}

/**
 * The object's one alarm. Its handler calls `sweep`. A later alarm that the object has set itself is stored in a
 * table, and is set again after the sweeps before it. If the object deletes such an alarm meanwhile, it fires
 * nevertheless, and sweeps.
 */
export class OwnAlarm extends SweepAlarm {
  readonly #storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">;
  readonly #sql: Sql;
  readonly #table: string;

  /** `prefix`: of the table. */
  constructor(
    storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
    sql: Sql,
    prefix: string,
  ) {
    super();
    this.#storage = storage;
    this.#sql = sql;
    this.#table = `${prefix}${ALARM_TABLE}`;
  }

  protected async setNext(dueMs: number): Promise<void> {
    const armedMs = (await this.#storage.getAlarm()) ?? Infinity;
    const known = this.#read();
    const isForeign = armedMs !== Infinity && armedMs !== known.setMs;
    const latestMs = isForeign ? armedMs : known.replacedMs;
    const replacedMs = latestMs > Date.now() ? latestMs : Infinity;
    const nextMs = Math.min(dueMs, replacedMs);
    if (nextMs >= armedMs) return;
    this.#write({ setMs: nextMs, replacedMs: replacedMs === nextMs ? Infinity : replacedMs });
    await this.#storage.setAlarm(nextMs);
  }

  #read(): Alarms {
    const [row] = sqlRows.hasTable(this.#sql, this.#table)
      ? this.#sql.all(`SELECT set_ms, replaced_ms FROM ${this.#table}`)
      : [];
    const msOf = (key: string) => {
      const timeMs = row?.[key];
      return typeof timeMs === "number" ? timeMs : Infinity;
    };
    return { setMs: msOf("set_ms"), replacedMs: msOf("replaced_ms") };
  }

  #write({ setMs, replacedMs }: Alarms): void {
    this.#sql.run(`CREATE TABLE IF NOT EXISTS ${this.#table}
      (id INTEGER PRIMARY KEY, set_ms INTEGER NOT NULL, replaced_ms INTEGER)`);
    this.#sql.run(
      `INSERT OR REPLACE INTO ${this.#table} (id, set_ms, replaced_ms) VALUES (1, ?, ?)`,
      setMs,
      replacedMs === Infinity ? null : replacedMs,
    );
  }
}

/** Times in milliseconds since 1970; Infinity for none. */
interface Alarms {
  /** The alarm that was set for the variables. */
  readonly setMs: number;
  /** The object's own alarm, which that one has replaced. */
  readonly replacedMs: number;
}

export const ALARM_TABLE = "alarm";

/** A call that the scheduler of the Agents SDK will make. */
interface Schedule {
  readonly id: string;
  readonly callback: string;
  /** Seconds since 1970. */
  readonly time: number;
}

/** An agent of the Agents SDK, whose scheduler shares the object's alarm. */
export interface SchedulingAgent {
  schedule(when: Date, callback: string): Promise<Schedule>;
  listSchedules(): Promise<readonly Schedule[]>;
  cancelSchedule(id: string): Promise<boolean>;
}

/** The method that the scheduler calls, which it finds by its name. */
const CALLBACK = "sweepByrefVariables";

/** A sweep in the scheduler of the Agents SDK: one schedule at a time. */
export class ScheduledSweep extends SweepAlarm {
  readonly #agent: SchedulingAgent;
  #next: { readonly id: string; readonly timeMs: number } | undefined;
  /** False until this life of the object knows what an earlier one has scheduled. */
  #isKnown = false;

  constructor(agent: SchedulingAgent, sweep: () => Promise<void>) {
    super();
    this.#agent = agent;
    const onSchedule = async () => {
      // The schedule that calls this is over, although the SDK still lists it.
      this.#isKnown = true;
      this.#next = undefined;
      await sweep();
    };
    Object.defineProperty(agent, CALLBACK, { value: onSchedule, configurable: true });
  }

  protected async setNext(dueMs: number): Promise<void> {
    if (dueMs === Infinity) return;
    if (!this.#isKnown) this.#next = await this.#scheduled();
    this.#isKnown = true;
    // The SDK rounds down to whole seconds, and would call before anything is due.
    const timeMs = Math.ceil(dueMs / 1_000) * 1_000;
    const before = this.#next;
    if (before !== undefined && before.timeMs <= timeMs) return;
    const { id } = await this.#agent.schedule(new Date(timeMs), CALLBACK);
    this.#next = { id, timeMs };
    if (before !== undefined) await this.#agent.cancelSchedule(before.id);
  }

  async #scheduled() {
    const all = await this.#agent.listSchedules();
    const ours = all
      .filter(({ callback, time }) => callback === CALLBACK && time * 1_000 > Date.now())
      .map(({ id, time }) => ({ id, timeMs: time * 1_000 }));
    return ours.toSorted((one, other) => one.timeMs - other.timeMs)[0];
  }
}
