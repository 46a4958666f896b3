import { beforeEach, describe, expect, it, vi } from "vitest";
import * as limits from "../../src/limits.ts";
import { Journal, type JournalEntry, type TurnHead } from "../../src/turn/log/journal.ts";
import { TurnLog, type TurnLogOptions } from "../../src/turn/log/turn-log.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { NodeSql } from "../support/node-sql.ts";
import { type ConversationEvent, EventLog } from "../../src/turn/log/event-log.ts";
import type { UIMessageChunk } from "ai";
import { NOTHING_SPENT } from "../../src/turn/spend/spend.ts";

const START_MS = 1_000_000;

const head: TurnHead = {
  id: "t",
  attempt: 1,
  isOpen: true,
  agent: "a",
  conversation: "c",
  spent: NOTHING_SPENT,
};
const second = { ...head, attempt: 2 };
const closed = { ...head, isOpen: false };

/** State of a turn in which nothing has been counted yet. */
const state: JournalEntry["state"] = {
  usage: {},
  savings: { promptChars: 0, inlinePromptChars: 0, authoredChars: 0, resolvedChars: 0 },
  spent: NOTHING_SPENT,
  tainted: false,
  waiting: {},
};

/** Logs over one journal, with their own database and clock. */
class LoggedTurns {
  readonly sql = new NodeSql();
  readonly journal: Journal;
  nowMs = START_MS;

  constructor() {
    migrate(this.sql);
    this.journal = new Journal(this.sql);
  }

  newLog(options: TurnLogOptions = {}): TurnLog {
    return new TurnLog({ now: () => this.nowMs, ...options });
  }

  /** A log with a turn that has begun. */
  begun(options: TurnLogOptions = {}): TurnLog {
    const log = this.newLog(options);
    log.start(this.journal, head, "new", () => log.push({ type: "start" }));
    return log;
  }

  /** Returns the letters of the journal's lines. Frames include their label. */
  written(): readonly string[] {
    const lines = new Journal(this.sql).read().split("\n").slice(0, -1);
    return lines.map((line) =>
      line.startsWith("f") ? `f ${labelOf(line.slice(1))}` : line.slice(0, 1),
    );
  }
}

const delta = (text: string): UIMessageChunk => ({ type: "text-delta", id: "x", delta: text });

/** Returns the text of a frame, or else its type. */
function labelOf(data: string): string {
  const { type, delta: text } = JSON.parse(data) as { type: string; delta?: string };
  return text ?? type;
}

/** Labels of the frames that a watcher from `first` receives. */
function seen(log: TurnLog, first = 0): readonly string[] {
  return log.slice(first, first).map(({ data }) => labelOf(data));
}

/** Commits that become durable, or fail, when `settle` is called. */
function durability() {
  const waiting: PromiseWithResolvers<void>[] = [];
  const durable = () => {
    const next = Promise.withResolvers<void>();
    waiting.push(next);
    return next.promise;
  };
  const settle = async (index: number, error?: Error) => {
    if (error === undefined) waiting[index]?.resolve();
    else waiting[index]?.reject(error);
    await new Promise(setImmediate);
  };
  return { durable, settle };
}

let turns: LoggedTurns;

beforeEach(() => void (turns = new LoggedTurns()));

it("frames are the pushed chunks as JSON, between any two indices", () => {
  const log = turns.begun();
  log.push(delta("a"));
  log.push(delta("b"));
  expect(log.slice(1, 0)[0]).toEqual({ id: 1_000_000_002, data: JSON.stringify(delta("a")) });
  expect(seen(log)).toEqual(["start", "a", "b"]);
  expect(log.slice(1, 0, 2).map(({ data }) => labelOf(data))).toEqual(["a"]);
  expect([log.length, log.count, log.firstOwn]).toEqual([3, 3, 0]);
});

it("frames are found by the id of the previous one", () => {
  const log = turns.begun();
  log.push(delta("a"));
  log.push(delta("b"));
  expect([log.indexAfter(0), log.indexAfter(1_000_000_001)]).toEqual([0, 1]);
  expect([log.indexAfter(1_000_000_003), log.indexAfter(1_999_999_999)]).toEqual([3, 3]);
  // An id of an unknown attempt starts from the beginning.
  expect(log.indexAfter(2_000_000_000)).toBe(0);
});

it("a pushed chunk is visible at once, and written after two seconds", () => {
  const log = turns.begun();
  turns.nowMs += limits.turnLogMs - 1;
  log.push(delta("a"));
  expect([seen(log), turns.written()]).toEqual([
    ["start", "a"],
    ["a", "f start"],
  ]);
  turns.nowMs++;
  log.push(delta("b"));
  expect(turns.written()).toEqual(["a", "f start", "f a", "f b"]);
  turns.nowMs += limits.turnLogMs - 1;
  log.push(delta("c"));
  expect(turns.written()).toHaveLength(4);
  turns.nowMs++;
  log.push(delta("d"));
  expect(turns.written().slice(4)).toEqual(["f c", "f d"]);
});

it("a pushed chunk is written as soon as enough characters are pending", () => {
  const log = turns.begun();
  const overhead = `f${JSON.stringify(delta(""))}\n`.length;
  const text = "x".repeat(limits.turnLogChars - overhead);
  log.push(delta(text.slice(1)));
  expect(turns.written()).toHaveLength(2);
  log.commit(() => undefined);
  expect(turns.written()).toHaveLength(3);
  log.push(delta(text));
  expect(turns.written()).toHaveLength(4);
});

describe("a commit", () => {
  it("is visible once it is durable, with chunks pushed meanwhile", async () => {
    const { durable, settle } = durability();
    const log = turns.begun({ durable });
    expect([log.length, seen(log)]).toEqual([0, []]);
    log.push(delta("a"));
    log.fail(delta("b"));
    expect(log.length).toBe(0);
    await settle(0);
    expect(seen(log)).toEqual(["start", "a", "b"]);
  });

  it("that does not become durable is never visible", async () => {
    const { durable, settle } = durability();
    const log = turns.begun({ durable });
    await settle(0, new Error("The object is gone."));
    log.push(delta("a"));
    log.close();
    expect([seen(log), log.isEnded]).toEqual([[], false]);
  });

  it("that fails is never visible, and not written with later frames", () => {
    const log = turns.begun();
    log.push(delta("a"));
    const failing = () =>
      log.commit(() => {
        log.push(delta("b"));
        log.note({ state });
        throw new Error("No.");
      });
    expect(failing).toThrow("No.");
    expect(seen(log)).toEqual(["start", "a"]);
    log.commit(() => log.push(delta("c")));
    expect(seen(log)).toEqual(["start", "a", "c"]);
    expect(turns.written()).toEqual(["a", "f start", "f a", "f c"]);
  });

  it("that fails keeps other writes, except at the beginning and the end", () => {
    turns.sql.run("CREATE TABLE saved (name TEXT)");
    const save = (name: string) => () => {
      turns.sql.run("INSERT INTO saved VALUES (?)", name);
      throw new Error("No.");
    };
    const log = turns.newLog();
    expect(() => log.start(turns.journal, head, "new", save("begin"))).toThrow("No.");
    log.start(turns.journal, head, "new", () => undefined);
    expect(() => log.commit(save("commit"))).toThrow("No.");
    expect(() => log.end(save("end"), () => head)).toThrow("No.");
    expect(() => log.start(turns.journal, second, "interrupted", save("retry"))).toThrow("No.");
    expect(() => log.start(turns.journal, second, "waited", save("resume"))).toThrow("No.");
    const saved = turns.sql.all("SELECT name FROM saved").map(({ name }) => name);
    expect([saved, new Journal(turns.sql).head()]).toEqual([["commit"], head]);
  });
});

describe("a watcher", () => {
  beforeEach(() => void vi.useFakeTimers());
  it("is notified after at most one tick without frames, by one timer for all", async () => {
    const log = turns.begun();
    const told: string[] = [];
    void log.waitForFrames(1_000).then((isNews) => told.push(`first ${isNews}`));
    await vi.advanceTimersByTimeAsync(500);
    void log.waitForFrames(1_000).then((isNews) => told.push(`second ${isNews}`));
    expect([vi.getTimerCount(), told]).toEqual([1, []]);
    await vi.advanceTimersByTimeAsync(500);
    expect(told).toEqual(["first false", "second false"]);
    // Nobody waits any more.
    await vi.advanceTimersByTimeAsync(3_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("of a log that ends waits until all of it is durable", async () => {
    vi.useRealTimers();
    const { durable, settle } = durability();
    const log = turns.begun({ durable });
    let told: boolean | undefined;
    void log.waitForFrames(60_000).then((isNews) => (told = isNews));
    log.close();
    await settle(9);
    expect([told, log.isEnded]).toEqual([undefined, false]);
    await settle(0);
    expect([told, log.isEnded]).toEqual([true, true]);
  });
});

describe("a turn that has waited", () => {
  /** Returns the log of the request that resumes a turn. */
  function waited() {
    const before = turns.begun();
    before.push({ type: "start-step" });
    before.end(
      () => before.push({ type: "finish" }),
      () => closed,
    );
    const log = turns.newLog();
    log.start(turns.journal, second, "waited", () => log.push({ type: "start" }));
    log.push(delta("a"));
    return log;
  }

  it("is one message for those who see all of it: one start and one finish", () => {
    const log = waited();
    expect(seen(log)).toEqual(["start", "start-step", "a"]);
    expect([log.length, log.count, log.firstOwn]).toEqual([5, 3, 3]);
  });

  it("begins with a start for the request that resumes it, and for no other", () => {
    const log = waited();
    expect(seen(log, log.firstOwn)).toEqual(["start", "a"]);
    // Read in two parts.
    expect(log.slice(3, 3, 4)).toMatchObject([{ id: 2_000_000_001 }]);
    expect(log.slice(4, 3).map(({ data }) => labelOf(data))).toEqual(["a"]);
    expect(log.slice(3, 1).map(({ data }) => labelOf(data))).toEqual(["a"]);
    expect(log.slice(1, 1).map(({ data }) => labelOf(data))).toEqual(["start-step", "a"]);
  });

  it("knows when each attempt began, and continues after a crash", () => {
    const log = waited();
    turns.nowMs += 5_000;
    log.push({ type: "start-step" });
    const next = turns.newLog();
    const recoveredLog = next.recover(new Journal(turns.sql));
    expect(recoveredLog).toMatchObject({ attempts: 1, attemptMs: START_MS, steps: 1 });
    expect(seen(next)).toEqual(["start", "start-step", "a", "start-step"]);
    next.start(turns.journal, { ...head, attempt: 3 }, "interrupted", () =>
      next.push({ type: "reset-step" }),
    );
    expect(next.slice(0, 0).at(-1)?.id).toBe(3_000_000_001);
    expect(turns.newLog().recover(new Journal(turns.sql))).toMatchObject({
      attempts: 2,
      attemptMs: turns.nowMs,
    });
    expect(new Journal(turns.sql).head()).toMatchObject({ attempt: 3 });
  });
});

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

it("a journal has its newest turn alone, in rows of a limited length, the head in as few writes as there can be", () => {
  const lengths = [0, 1, 5, ROW - 2, ROW, ROW + 1, 2 * ROW + 1];
  for (const first of lengths.filter((length) => length < ROW))
    for (const second of lengths) {
      journal.begin(head, "x".repeat(first));
      expect(woken()).toEqual({ head, log: "x".repeat(first) });
      for (const text of ["", "y".repeat(second), "1", "2"]) journal.append(text);
      const isOneRow = rows().length === 1 && first + second + 3 <= ROW;
      expect(statementsOf(() => journal.append("!", later))).toBe(isOneRow ? 1 : 2);
      const log = `${"x".repeat(first)}${"y".repeat(second)}12!`;
      expect(woken()).toEqual({ head: later, log });
      expect(rows().every(({ chars }) => chars <= ROW)).toBe(true);
      expect(rows().length).toBeLessThanOrEqual(2 + log.length / ROW);
      // Another process replaces all of it.
      journal = new Journal(sql);
    }
});

describe("a failing write", () => {
  const refused = new Error("There is no room.");

  /** Makes all writes fail until the returned function is called. */
  function refuse(): () => void {
    const { run } = sql;
    sql.run = () => {
      throw refused;
    };
    return () => void (sql.run = run);
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

function emptyLog(onFlush = () => {}): EventLog {
  const sql = new NodeSql();
  migrate(sql);
  return new EventLog(sql, { now: () => 5, onFlush });
}

function event(id: number): ConversationEvent {
  return { id, at: "2026-01-01T00:00:00.000Z", type: "turn.done", turn: "t" };
}

const ids = (count: number, first = 1) => Array.from({ length: count }, (_, at) => first + at);

it("events of another log are stored with their ids and times, which continue after them, and nobody is notified", () => {
  const log = emptyLog(() => {
    throw new Error("told");
  });
  const events = ids(1_200, 40).map(event);
  log.restore(events.slice(0, 600));
  log.restore([]);
  log.restore(events.slice(600));
  expect(log.list({ after: 0, limit: 2_000 })).toEqual({ events });
  expect([log.newestId, log.lastActiveMs]).toEqual([1_239, 5]);
});

it("events of another log are refused with gaps or duplicates", () => {
  const log = emptyLog();
  log.restore([event(3), event(4)]);
  const refused = expect.objectContaining({ code: "bad_value" });
  for (const wrong of [[event(6)], [event(4)], [event(5), event(7)]]) {
    expect(() => log.restore(wrong)).toThrow(refused);
  }
  log.add({ type: "turn.done" });
  expect(log.newestId).toBe(5);
});
