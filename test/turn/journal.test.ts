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

function rows() {
  const found = sql.all("SELECT part, head, log FROM turn ORDER BY part");
  return found.map(({ part, head, log }) => ({ part, head, chars: String(log).length }));
}

/** Returns the head and the log as another process reads them. */
function woken() {
  const other = new Journal(sql);
  return { head: other.head(), log: other.read() };
}

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
