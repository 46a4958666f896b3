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
  it("survive a restart, in order and with their runs", () => {
    const sql = emptySql();
    const store = new PlanStore(sql);
    for (const id of ["b", "a"]) store.add(recordOf(id, id));
    store.addRun(runOf("run_1"), { x: 1 });
    store.addRun(runOf("run_2"), {});
    store.setStatus("b", "approved");
    store.saveRun({ ...runOf("run_1"), status: "done", calls: { call_1: { status: "done" } } });
    store.saveState("run_1", { y: 2 });
    const again = new PlanStore(sql);
    expect(again.list(10_000).map(({ id, status }) => [id, status])).toEqual([
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
    expect(Array.from(again.openRuns(), ({ id }) => id)).toEqual(["run_2"]);
    expect(again.run("run_1")).toMatchObject({
      input: { x: 1 },
      record: { calls: { call_1: { status: "done" } } },
    });
    expect(again.runsOf("a", 1)).toEqual([]);
  });

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

  it("may have a few open runs, so that waiting ones do not pile up", () => {
    const store = new PlanStore(emptySql());
    store.add(recordOf("b", ""));
    for (let n = 0; n < limits.maxPlanRuns; n++) {
      store.requireRoom("b");
      store.addRun(runOf(`r${n}`), {});
    }
    expect(() => store.requireRoom("b")).toThrow(/maxPlanRuns is at most/u);
    store.requireRoom("a");
    store.saveRun({ ...runOf("r0"), status: "done" });
    store.requireRoom("b");
  });

  it("of an older version, which stored the status in the plan, are migrated", () => {
    const sql = emptySql();
    sql.run(
      `CREATE TABLE plan (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, data TEXT NOT NULL)`,
    );
    sql.run(`CREATE TABLE plan_run
      (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, plan TEXT NOT NULL, open INTEGER NOT NULL,
       input TEXT NOT NULL, data TEXT NOT NULL, state TEXT)`);
    for (const [id, status] of [
      ["b", "running"],
      ["a", "done"],
    ] as const) {
      const data = JSON.stringify({ ...recordOf(id, id), status });
      sql.run(`INSERT INTO plan (id, data) VALUES (?, ?)`, id, data);
    }
    const waiting = { ...runOf("r1"), status: "waiting" };
    sql.run(
      `INSERT INTO plan_run (id, plan, open, input, data) VALUES ('r1', 'b', 1, '{}', ?)`,
      JSON.stringify(waiting),
    );
    const store = new PlanStore(sql);
    expect(store.list(10_000).map(({ id, status }) => [id, status])).toEqual([
      ["b", "running"],
      ["a", "done"],
    ]);
    expect([store.hasWaiting(), store.list(10_000)[0]?.newest]).toEqual([true, waiting]);
    store.setStatus("b", "failed");
    expect([store.get("b")?.status, store.ids()]).toEqual(["failed", ["b", "a"]]);
    store.add(recordOf("c", ""));
    expect(new PlanStore(sql).ids()).toEqual(["b", "a", "c"]);
  });
});
