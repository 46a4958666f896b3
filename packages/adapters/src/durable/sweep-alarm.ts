import { sqlRows } from "../../../../src/internal.ts";

/** Makes sure that `sweep` is called at that time or earlier, in milliseconds since 1970. Infinity: nothing is due. */
export type SetAlarm = (dueMs: number) => Promise<void>;

function oneByOne(set: SetAlarm): SetAlarm {
  let last: Promise<void> = Promise.resolve();
  return (dueMs) => {
    const done = last.then(() => set(dueMs));
    last = done.catch(() => undefined);
    return done;
  };
}

/**
 * The object's one alarm. Its handler calls `sweep`. A later alarm that the object has set itself is stored in a
 * table, and is set again after the sweeps before it. If the object deletes such an alarm meanwhile, it fires
 * nevertheless, and sweeps.
 */
export function ownAlarm(
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
  sql: sqlRows.Sql,
  prefix: string,
): SetAlarm {
  const table = `${prefix}${ALARM_TABLE}`;
  const read = (): Alarms => {
    const [row] = sqlRows.hasTable(sql, table)
      ? sql.all(`SELECT set_ms, replaced_ms FROM ${table}`)
      : [];
    const msOf = (key: string) => {
      const timeMs = row?.[key];
      return typeof timeMs === "number" ? timeMs : Infinity;
    };
    return { setMs: msOf("set_ms"), replacedMs: msOf("replaced_ms") };
  };
  const write = ({ setMs, replacedMs }: Alarms) => {
    sql.run(`CREATE TABLE IF NOT EXISTS ${table}
      (id INTEGER PRIMARY KEY, set_ms INTEGER NOT NULL, replaced_ms INTEGER)`);
    sql.run(
      `INSERT OR REPLACE INTO ${table} (id, set_ms, replaced_ms) VALUES (1, ?, ?)`,
      setMs,
      replacedMs === Infinity ? null : replacedMs,
    );
  };
  return oneByOne(async (dueMs) => {
    const armedMs = (await storage.getAlarm()) ?? Infinity;
    const known = read();
    const isForeign = armedMs !== Infinity && armedMs !== known.setMs;
    const latestMs = isForeign ? armedMs : known.replacedMs;
    const replacedMs = latestMs > Date.now() ? latestMs : Infinity;
    const nextMs = Math.min(dueMs, replacedMs);
    if (nextMs >= armedMs) return;
    write({ setMs: nextMs, replacedMs: replacedMs === nextMs ? Infinity : replacedMs });
    await storage.setAlarm(nextMs);
  });
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
export function scheduledSweep(agent: SchedulingAgent, sweep: () => Promise<void>): SetAlarm {
  Object.defineProperty(agent, CALLBACK, { value: sweep, configurable: true });
  return oneByOne(async (dueMs) => {
    if (dueMs === Infinity) return;
    // The SDK rounds down to whole seconds, and would call before anything is due.
    const timeMs = Math.ceil(dueMs / 1_000) * 1_000;
    const all = await agent.listSchedules();
    // A schedule that calls `sweep` now is over, although the SDK still lists it.
    const ours = all.filter(
      ({ callback, time }) => callback === CALLBACK && time * 1_000 > Date.now(),
    );
    if (ours.some(({ time }) => time * 1_000 <= timeMs)) return;
    await agent.schedule(new Date(timeMs), CALLBACK);
    for (const { id } of ours) await agent.cancelSchedule(id);
  });
}
