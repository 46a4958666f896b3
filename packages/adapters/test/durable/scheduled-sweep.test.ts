import { beforeEach, describe, expect, it, vi } from "vitest";
import { ownAlarm, scheduledSweep, type SchedulingAgent } from "../../src/durable/sweep-alarm.ts";
import { NodeSql } from "../../../../test/support/node-sql.ts";

interface Schedule {
  readonly id: string;
  readonly callback: string;
  readonly time: number;
}

/** Stores schedules as the Agents SDK does: in whole seconds, rounded down. */
class Agent implements SchedulingAgent {
  schedules: Schedule[] = [];
  #count = 0;

  async schedule(when: Date, callback: string): Promise<Schedule> {
    const schedule = {
      id: `s${++this.#count}`,
      callback,
      time: Math.floor(when.getTime() / 1_000),
    };
    this.schedules.push(schedule);
    return schedule;
  }

  async listSchedules(): Promise<readonly Schedule[]> {
    return this.schedules;
  }

  async cancelSchedule(id: string): Promise<boolean> {
    const before = this.schedules.length;
    this.schedules = this.schedules.filter((schedule) => schedule.id !== id);
    return this.schedules.length < before;
  }

  /** Calls the method of the first schedule, then removes the schedule. */
  async ring(): Promise<void> {
    const [first] = this.schedules;
    const method: unknown = Reflect.get(this, first?.callback ?? "");
    if (typeof method !== "function") throw new Error("The agent has no such method.");
    await method.call(this);
    this.schedules = this.schedules.filter((schedule) => schedule !== first);
  }

  get times(): readonly number[] {
    return this.schedules.map(({ time }) => time * 1_000);
  }
}

describe("a sweep in the scheduler of the Agents SDK", () => {
  const sweep = vi.fn<() => Promise<void>>(async () => undefined);
  const nowMs = Math.floor(Date.now() / 1_000) * 1_000;
  let agent = new Agent();

  beforeEach(() => {
    agent = new Agent();
    sweep.mockClear();
  });

  it("is scheduled once, never before it is due, and earlier if needed", async () => {
    const setAlarm = scheduledSweep(agent, sweep);
    await Promise.all([setAlarm(nowMs + 90_001), setAlarm(nowMs + 95_000)]);
    expect(agent.times).toEqual([nowMs + 91_000]);
    await setAlarm(nowMs + 30_000);
    expect(agent.times).toEqual([nowMs + 30_000]);
  });

  it("is found after a restart of the object, among the agent's own schedules", async () => {
    await agent.schedule(new Date(nowMs + 5_000), "remind");
    await scheduledSweep(agent, sweep)(nowMs + 90_000);
    const setAlarm = scheduledSweep(agent, sweep);
    await setAlarm(nowMs + 120_000);
    expect(agent.times).toEqual([nowMs + 5_000, nowMs + 90_000]);
    await setAlarm(nowMs + 60_000);
    expect(agent.times).toEqual([nowMs + 5_000, nowMs + 60_000]);
  });

  it("is scheduled again by the sweep that it calls", async () => {
    await scheduledSweep(agent, sweep)(nowMs + 90_000);
    // The scheduler wakes the object.
    const setAlarm = scheduledSweep(agent, sweep);
    sweep.mockImplementationOnce(() => setAlarm(nowMs + 180_000));
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs + 90_000 });
    await agent.ring();
    expect(sweep).toHaveBeenCalledOnce();
    expect(agent.times).toEqual([nowMs + 180_000]);
  });
});

it("an alarm that the object has set itself is set again after those for its variables", async () => {
  const nowMs = Date.now();
  let armedMs: number | null = nowMs + 900_000;
  const storage = {
    getAlarm: async () => armedMs,
    setAlarm: async (timeMs: number | Date) => void (armedMs = Number(timeMs)),
  };
  const sql = new NodeSql();
  await ownAlarm(storage, sql, "byref_")(nowMs + 60_000);
  expect(armedMs).toBe(nowMs + 60_000);
  // It has fired, and nothing else is due.
  armedMs = null;
  await ownAlarm(storage, sql, "byref_")(Infinity);
  expect(armedMs).toBe(nowMs + 900_000);
});
