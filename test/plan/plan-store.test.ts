import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { type PlanRecord, PlanStore } from "../../src/plan/plan-store.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { NodeSql } from "../support/node-sql.ts";
import { runRecord } from "../support/plan-runs.ts";
import { planOf } from "../support/plans.ts";

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
  it("are there after a new start, in order, with their runs", () => {
    const sql = emptySql();
    const store = new PlanStore(sql);
    for (const id of ["b", "a"]) store.add(recordOf(id, id));
    store.addRun(runOf("run_1"), { x: 1 });
    store.addRun(runOf("run_2"), {});
    store.setStatus("b", "approved");
    store.saveRun({ ...runOf("run_1"), status: "done", calls: { call_1: { status: "done" } } });
    store.saveState("run_1", { y: 2 });
    const again = new PlanStore(sql);
    expect(again.list().map(({ id, status }) => [id, status])).toEqual([
      ["b", "approved"],
      ["a", "proposed"],
    ]);
    expect(again.get("a")).toEqual(recordOf("a", "a"));
    expect(
      again.runsOf("b", 1_000).map(({ record, state }) => [record.id, record.status, state]),
    ).toEqual([
      ["run_1", "done", { y: 2 }],
      ["run_2", "running", undefined],
    ]);
    expect(again.openRuns().map(({ id }) => id)).toEqual(["run_2"]);
    expect(again.run("run_1")).toMatchObject({
      input: { x: 1 },
      record: { calls: { call_1: { status: "done" } } },
    });
    expect(again.runsOf("a", 1)).toEqual([]);
  });

  it("cost nothing as long as there is none", () => {
    const sql = emptySql();
    const store = new PlanStore(sql);
    expect([store.get("a"), store.run("r")]).toEqual([undefined, undefined]);
    expect([store.list(), store.runsOf("a", 1), store.openRuns()]).toEqual([[], [], []]);
    expect(sql.all("SELECT name FROM sqlite_master WHERE name LIKE 'plan%'")).toEqual([]);
  });

  it("have a size, above which nothing is kept", () => {
    const store = new PlanStore(emptySql());
    const large = recordOf("a", "€".repeat(limits.maxPlanBytes / 3));
    expect(() => store.add(large)).toThrow(/maxPlanBytes is at most 1048576/u);
    expect(store.get("a")).toBeUndefined();
  });

  it("are so many at most: the oldest that is over makes room, none that is still needed", () => {
    const store = new PlanStore(emptySql());
    for (let n = 0; n < limits.maxPlans; n++) store.add(recordOf(`p${n}`, ""));
    expect(() => store.add(recordOf("more", ""))).toThrow(/maxPlans is at most 200/u);
    store.setStatus("p3", "done");
    store.add(recordOf("more", ""));
    expect([store.get("p3"), store.get("more")?.id]).toEqual([undefined, "more"]);
  });

  it("show of old runs what fits", () => {
    const store = new PlanStore(emptySql());
    store.add(recordOf("b", ""));
    for (const id of ["r1", "r2", "r3"]) store.addRun(runOf(id), "x".repeat(10));
    const inputs = store
      .runsOf("b", 25)
      .map(({ record, input }) => [record.id, input?.toString().length]);
    expect(inputs).toEqual([
      ["r1", undefined],
      ["r2", 10],
      ["r3", 10],
    ]);
    expect(store.newestRun("b")?.id).toBe("r3");
  });

  it("keep their newest runs, and all that are open", () => {
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
