import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { PlanRecord } from "../../src/plan/plan-record.ts";
import { PlanStore } from "../../src/plan/plan-store.ts";
import type { RunRecord } from "../../src/plan/run-record.ts";
import { closeAll, migratedSql, type WatchedSql } from "../store/watched-sql.ts";
import { workOf } from "../support/count-work.ts";
import { runRecord } from "../support/plan-runs.ts";
import { planOf } from "../support/plans.ts";
import { figure } from "../support/scorecard.ts";

const planned = (id: string, n: number): PlanRecord => ({
  id,
  status: "approved",
  plan: planOf([{ _tool: "echo", value: "x".repeat(limits.maxPlanBytes - 2_000) }]),
  agent: "a",
  after: {},
  createdAt: new Date(n).toISOString(),
});

/** As long as the state of 200 calls is. */
const waiting = (id: string, plan: string): RunRecord => {
  const states = Array.from({ length: limits.maxPlanCalls }, (_, n) => [
    `call_${n}`,
    { status: "waiting", reason: "r".repeat(limits.maxCallReasonChars), asked: "a".repeat(2_000) },
  ]);
  return { ...runRecord(id, { plan }), status: "waiting", calls: Object.fromEntries(states) };
};

let sql: WatchedSql;
let store: PlanStore;

/** Of each plan one run waits. */
beforeAll(() => {
  sql = migratedSql();
  store = new PlanStore(sql);
  for (let n = 0; n < limits.maxPlans; n++) {
    store.add(planned(`p${n}`, n));
    store.addRun(waiting(`r${n}`, `p${n}`), "i".repeat(100_000));
  }
}, 120_000);

afterAll(closeAll);

const SMALL = 100_000;

const requests: readonly (readonly [what: string, most: number, act: () => unknown])[] = [
  ["a list", limits.maxPlanViewChars + SMALL, () => store.list(limits.maxPlanViewChars)],
  ["a change of status", SMALL, () => store.setStatus("p7", "running")],
  ["a look whether anything waits", SMALL, () => store.hasWaiting()],
  ["a count of what is open", SMALL, () => store.requireRoom("p7")],
  [
    "a new plan in the place of an old one",
    3 * limits.maxPlanBytes,
    () => {
      store.setStatus("p7", "done");
      store.add(planned("new", 1));
    },
  ],
];

describe("200 plans of 1 MiB, each with a run of 600 KB that waits", () => {
  let over = 0;

  it.each(requests)("cost little: %s", async (_what, most, act) => {
    const { read, written, serialized, parsed } = await workOf(sql, act);
    const largest = Math.max(read, written, serialized, parsed);
    if (largest > most) over++;
    expect(largest).toBeLessThanOrEqual(most);
  });

  it("and nothing costs more", () => {
    figure("S19", { "plan requests": requests.length, "over their bound": over });
    expect(over).toBe(0);
  });
});
