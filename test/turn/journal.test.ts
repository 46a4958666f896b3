import { beforeEach, describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { Journal } from "../../src/turn/log/journal.ts";
import { head } from "../support/logged-turns.ts";
import { NodeSql } from "../support/node-sql.ts";

const ROW = limits.turnLogRowChars;
const later = { ...head, attempt: 2, isOpen: false };

let sql: NodeSql;
let journal: Journal;

beforeEach(() => {
  sql = new NodeSql();
  migrate(sql);
  journal = new Journal(sql, { isNew: true });
});

/** Counts the SQL statements of `work`. */
function statementsOf(work: () => unknown): number {
  const before = sql.statements;
  work();
  return sql.statements - before;
}

function rows() {
  const found = sql.all("SELECT part, head, log FROM turn ORDER BY part");
  return found.map(({ part, head, log }) => ({ part, head, chars: String(log).length }));
}

/** Returns the head and the log as another process reads them. */
function woken() {
  const other = new Journal(sql);
  return { head: other.head(), log: other.read() };
}

describe("a journal", () => {
  it("contains only the newest turn, however many rows the previous one had", () => {
    journal.begin(head, "");
    journal.append("x".repeat(2 * ROW));
    expect(rows()).toHaveLength(3);
    expect(statementsOf(() => journal.begin({ ...head, id: "next" }, "new"))).toBe(2);
    expect(rows()).toHaveLength(1);
    expect(woken()).toEqual({ head: { ...head, id: "next" }, log: "new" });
    expect(statementsOf(() => journal.begin({ ...head, id: "last" }, "new"))).toBe(1);
    expect(woken().head?.id).toBe("last");
  });

  it("of another process also replaces all rows", () => {
    journal.begin(head, "");
    journal.append("x".repeat(2 * ROW));
    new Journal(sql).begin(head, "new");
    expect(rows()).toMatchObject([{ chars: 3 }]);
  });
});

describe("appended text", () => {
  it("fills its row to the last character, and continues in the next", () => {
    journal.begin(head, "x".repeat(ROW - 2));
    journal.append("1");
    journal.append("2");
    expect(rows().map(({ chars }) => chars)).toEqual([ROW]);
    journal.append("3");
    journal.append("4");
    expect(rows()).toMatchObject([
      { part: 0, chars: ROW },
      { part: 1, chars: 2, head: null },
    ]);
    expect(journal.read().slice(-4)).toBe("1234");
  });

  it("begins new rows if it does not fit", () => {
    journal.begin(head, "x");
    journal.append("y".repeat(2 * ROW + 1));
    expect(rows().map(({ chars }) => chars)).toEqual([1, ROW, ROW, 1]);
    journal.append("z".repeat(ROW - 1));
    expect(rows().map(({ chars }) => chars)).toEqual([1, ROW, ROW, ROW]);
    expect(journal.read()).toBe(`x${"y".repeat(2 * ROW + 1)}${"z".repeat(ROW - 1)}`);
  });

  it("has a predictable number of rows, including the head", () => {
    const room = ROW - 2_000;
    journal.begin(head, "x".repeat(10));
    expect(journal.rowsFor(0)).toBe(1);
    expect(journal.rowsFor(room - 10)).toBe(1);
    // One row contains the head, and another the text that does not fit.
    expect(journal.rowsFor(room - 9)).toBe(2);
    expect(journal.rowsFor(room)).toBe(2);
    expect(journal.rowsFor(room + 1)).toBe(3);
    journal.append("y".repeat(ROW));
    expect(journal.rowsFor(room)).toBe(2);
    const next = new Journal(sql);
    next.append("z");
    expect(next.rowsFor(1)).toBe(2);
    expect(statementsOf(() => next.append("z", later))).toBe(2);
  });
});

describe("a failing write", () => {
  const refused = new Error("There is no room.");

  /** Makes all writes fail until the returned function is called. */
  function refuse(): () => void {
    const { run } = sql;
    sql.run = () => {
      throw refused;
    };
    return () => {
      sql.run = run;
    };
  }

  it("of appended text leaves the head and the log unchanged", () => {
    journal.begin(head, "x");
    const allow = refuse();
    expect(() => journal.append("y".repeat(ROW), later)).toThrow(refused);
    allow();
    expect(journal.head()).toEqual(head);
    journal.append("z");
    expect(woken()).toEqual({ head: head, log: "xz" });
    expect(rows()).toHaveLength(1);
  });

  it("in the middle of an atomic change leaves nothing of it, not even in memory", () => {
    journal.begin(head, "x");
    const work = () => {
      journal.append("y".repeat(ROW), later);
      throw refused;
    };
    expect(() => journal.atomically(work)).toThrow(refused);
    expect(journal.head()).toEqual(head);
    journal.append("z");
    expect(woken()).toEqual({ head: head, log: "xz" });
    expect(rows()).toHaveLength(1);
    journal.atomically(() => journal.append("!", later));
    expect(woken()).toEqual({ head: later, log: "xz!" });
  });
});
