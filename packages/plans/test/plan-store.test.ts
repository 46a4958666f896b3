import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import type { PlanRecord } from "../src/plan/plan-record.ts";
import { PlanStore } from "../src/plan/plan-store.ts";
import { migrate } from "../../../src/store/rows/migrations.ts";
import { NodeSql } from "../../../test/support/node-sql.ts";
import { runRecord } from "../../../test/support/plan-runs.ts";
import { planOf } from "../../../test/support/plans.ts";

const recordOf = (id: string, value: string): PlanRecord => ({
  id,
  status: "proposed",
  plan: planOf([{ _tool: "echo", value }]),
  agent: "a",
  after: {},
  createdAt: "2026-01-01T00:00:00.000Z",
});

const runOf = (id: string) => runRecord(id, { plan: "b" });

const emptySql = () => {
  const sql = new NodeSql();
  migrate(sql);
  return sql;
};

describe("plans in SQLite", () => {
  it("have a maximum size", () => {
    const store = new PlanStore(emptySql());
    const large = recordOf("a", "€".repeat(limits.maxRecordBytes / 3));
    expect(() => store.add(large)).toThrow(/maxRecordBytes is at most 1048576/u);
    expect(store.get("a")).toBeUndefined();
  });

  it("have a maximum number: the oldest finished one is removed, none that is still needed", () => {
    const store = new PlanStore(emptySql());
    for (let n = 0; n < limits.maxPlanItems; n++) store.add(recordOf(`p${n}`, ""));
    expect(() => store.add(recordOf("more", ""))).toThrow(/maxPlanItems is at most 200/u);
    store.setStatus("p3", "done");
    store.add(recordOf("more", ""));
    expect([store.get("p3"), store.get("more")?.id]).toEqual([undefined, "more"]);
  });

  it("keep their newest runs and all open ones", () => {
    const store = new PlanStore(emptySql());
    store.add(recordOf("b", ""));
    for (let n = 0; n < limits.maxPlanRuns + 2; n++) {
      store.addRun(runOf(`r${n}`), {});
      if (n > 0) store.saveRun({ ...runOf(`r${n}`), status: "done" });
    }
    const ids = store.runsOf("b", 1_000).map(({ record }) => record.id);
    expect(ids.slice(0, 2)).toEqual(["r0", "r2"]);
    expect(ids).toHaveLength(limits.maxPlanRuns + 1);
  });
});
