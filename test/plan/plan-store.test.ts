import { describe, expect, it } from "vitest";
import { limits } from "../../src/limits.ts";
import { type PlanRecord, PlanStore } from "../../src/plan/plan-store.ts";
import { migrate } from "../../src/store/migrations.ts";
import { NodeSql } from "../support/node-sql.ts";
import { planOf } from "../support/plans.ts";

const recordOf = (id: string, value: string): PlanRecord => ({
  id,
  status: "proposed",
  plan: planOf([{ _tool: "echo", value }]),
  agent: "a",
  createdAt: "2026-01-01T00:00:00.000Z",
});

const emptySql = () => {
  const sql = new NodeSql();
  migrate(sql);
  return sql;
};

describe("plans in SQLite", () => {
  it("are there after a new start, in order, with their runs", () => {
    const sql = emptySql();
    const store = new PlanStore(sql);
    const run = { plan: "b", status: "running", input: {}, calls: {}, opened: [] } as const;
    for (const id of ["b", "a"]) store.save(recordOf(id, id));
    store.saveRun({ ...run, id: "run_1" });
    store.saveRun({ ...run, id: "run_2" });
    store.save({ ...recordOf("b", "b"), status: "approved" });
    store.saveRun({ ...run, id: "run_1", status: "done", calls: { call_1: { status: "done" } } });
    const again = new PlanStore(sql);
    expect(again.list().map(({ id, status }) => [id, status])).toEqual([
      ["b", "approved"],
      ["a", "proposed"],
    ]);
    expect(again.get("a")).toEqual(recordOf("a", "a"));
    expect(again.runsOf("b").map(({ id, status }) => [id, status])).toEqual([
      ["run_1", "done"],
      ["run_2", "running"],
    ]);
    expect(again.run("run_1")?.calls).toEqual({ call_1: { status: "done" } });
    expect(again.runsOf("a")).toEqual([]);
  });

  it("cost nothing as long as there is none", () => {
    const sql = emptySql();
    const store = new PlanStore(sql);
    expect([store.get("a"), store.list(), store.run("r"), store.runsOf("a")]).toEqual([
      undefined,
      [],
      undefined,
      [],
    ]);
    expect(sql.all("SELECT name FROM sqlite_master WHERE name LIKE 'plan%'")).toEqual([]);
  });

  it("have a size, above which nothing is kept", () => {
    const store = new PlanStore(emptySql());
    const large = recordOf("a", "€".repeat(limits.maxPlanBytes / 3));
    expect(() => store.save(large)).toThrow(/maxPlanBytes is at most 1048576/u);
    expect(store.get("a")).toBeUndefined();
  });
});
