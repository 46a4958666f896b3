import { Cron } from "croner";
import type * as z from "zod";
import { ByrefError, messageOf } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import type { newSchedule } from "./program-schemas.ts";

/** When a program runs, and for what input. */
export type Schedule = z.infer<typeof newSchedule>;

/** The first time after `nowMs`; undefined if there is none. Throws `bad_request`. */
export function nextTime(schedule: Schedule, nowMs: number): number | undefined {
  return cronOf(schedule).nextRun(new Date(nowMs))?.getTime();
}

/** The times from `dueMs` to `nowMs` for which the program is to run, oldest first. */
export function timesBetween(schedule: Schedule, dueMs: number, nowMs: number): readonly number[] {
  const { misfires } = schedule;
  const count = misfires === "all" ? limits.maxPlanRuns : 1;
  // A reference of a whole second would not include itself.
  const newest = cronOf(schedule).previousRuns(count, new Date(nowMs + 1));
  const later = newest.map((time) => time.getTime()).filter((timeMs) => timeMs > dueMs);
  const times = [dueMs, ...later.toReversed()].slice(-count);
  return misfires === "skip" ? times.filter((timeMs) => timeMs >= nowMs - LATE_MS) : times;
}

/** An alarm may be late by this much. */
const LATE_MS = 60_000;

function cronOf({ cron, timeZone }: Schedule): Cron {
  try {
    Intl.DateTimeFormat("en", { timeZone });
  } catch {
    const message = `timeZone: "${timeZone}" is no IANA time zone, such as Europe/Berlin.`;
    throw new ByrefError("bad_request", message);
  }
  try {
    // The library also reads single dates, and `?` as the time at which it reads.
    if (/[:?]/u.test(cron)) throw new Error("it contains : or ?");
    const options = { mode: "5-or-6-parts", fixedTimeRule: "no-wildcard", paused: true } as const;
    return new Cron(cron, { timezone: timeZone, ...options });
  } catch (error) {
    const advice = `write "minute hour day month weekday", with seconds before them if needed.`;
    const message = `cron: "${cron}" is no cron line (${messageOf(error)}): ${advice}`;
    throw new ByrefError("bad_request", message);
  }
}
