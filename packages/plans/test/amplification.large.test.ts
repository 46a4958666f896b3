import * as limits from "../../../src/limits.ts";
import type { PlanRecord, RunRecord } from "../src/plan/plan-record.ts";
import { PlanStore } from "../src/plan/plan-store.ts";
import { closeAll, migratedSql, type WatchedSql } from "../../../test/store/watched-sql.ts";
import { workOf } from "../../../test/support/count-work.ts";
import { runRecord } from "../../../test/support/plan-runs.ts";
import { planOf } from "../../../test/support/plans.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const planned = (id: string, n: number): PlanRecord => ({
  id,
  status: "approved",
  plan: planOf([{ _tool: "echo", value: "x".repeat(limits.maxRecordBytes - 2_000) }]),
  agent: "a",
  after: {},
  createdAt: new Date(n).toISOString(),
});

/** Returns a waiting run whose state is as long as that of 200 calls. */
const waiting = (id: string, plan: string): RunRecord => {
  const states = Array.from({ length: limits.maxPlanItems }, (_, n) => [
    `call_${n}`,
    { status: "waiting", reason: "r".repeat(limits.maxReasonChars), asked: "a".repeat(2_000) },
  ]);
  return { ...runRecord(id, { plan }), status: "waiting", calls: Object.fromEntries(states) };
};

let sql: WatchedSql;
let store: PlanStore;

/** Adds the maximum number of plans, each with a waiting run, and one plan with many waiting runs. */
beforeAll(() => {
  sql = migratedSql();
  store = new PlanStore(sql);
  for (let n = 0; n < limits.maxPlanItems; n++) {
    store.add(planned(`p${n}`, n));
    store.addRun(waiting(`r${n}`, `p${n}`), "i".repeat(100_000));
  }
  for (let n = 0; n < limits.maxPlanRuns; n++) store.addRun(waiting(`m${n}`, "many"), "i");
});

afterAll(closeAll);

const SMALL = 100_000;
/** The number of open runs after one more. */
const OPEN_RUNS = limits.maxPlanItems + limits.maxPlanRuns + 1;
const FULL = `maxBatchItems is at most ${limits.maxBatchItems}, this is ${OPEN_RUNS}.`;

const requests: readonly (readonly [what: string, most: number, act: () => unknown])[] = [
  ["a list", limits.maxPageChars + SMALL, () => store.list(limits.maxPageChars)],
  ["a change of status", SMALL, () => store.setStatus("p7", "running")],
  ["a check whether anything waits", SMALL, () => store.hasWaiting()],
  ["a count of open runs", SMALL, () => expect(() => store.requireRoom("p7")).toThrow(FULL)],
  ["a list of plans with open runs", SMALL, () => store.plansOfOpenRuns()],
  ["a count of one plan's open runs", SMALL, () => store.countOpen("p7", "r7")],
  ["the open runs of one plan", 1_000_000, () => [...store.openRuns("p7")]],
  ["the runs of one plan", limits.maxPageChars, () => store.runsOf("many", limits.maxPageChars)],
  [
    "a new plan that replaces an old one",
    3 * limits.maxRecordBytes,
    () => {
      store.setStatus("p7", "done");
      store.add(planned("new", 1));
    },
  ],
];

describe("200 plans of 1 MiB, each with a waiting run of 600 KB", () => {
  let over = 0;

  it.each(requests)("cost little: %s", async (_what, most, act) => {
    const { read, written, serialized, parsed } = await workOf(sql, act);
    const largest = Math.max(read, written, serialized, parsed);
    if (largest > most) over++;
    expect(largest).toBeLessThanOrEqual(most);
  });

  it("cost no request more than its bound", () => {
    expect(over).toBe(0);
  });
});
