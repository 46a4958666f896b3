import { beforeEach, describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { Journal } from "../../src/turn/log/journal.ts";
import { TurnLog } from "../../src/turn/log/turn-log.ts";
import {
  closed,
  delta,
  durability,
  head,
  labelOf,
  LoggedTurns,
  second,
  seen,
  state,
} from "../support/logged-turns.ts";

let turns: LoggedTurns;

beforeEach(() => {
  turns = new LoggedTurns();
});

describe("frames", () => {
  it("have ids that count up within their attempt", () => {
    const log = turns.begun();
    log.push(delta("a"));
    expect(log.slice(0, 0).map(({ id }) => id)).toEqual([1_000_000_001, 1_000_000_002]);
    log.retry(turns.journal, second, () => log.push({ type: "reset-step" }));
    log.push(delta("b"));
    const ids = log.slice(2, 0).map(({ id }) => id);
    expect(ids).toEqual([2_000_000_001, 2_000_000_002]);
  });

  it("are the pushed chunks as JSON, between any two indices", () => {
    const log = turns.begun();
    log.push(delta("a"));
    log.push(delta("b"));
    expect(log.slice(1, 0)[0]).toEqual({ id: 1_000_000_002, data: JSON.stringify(delta("a")) });
    expect(seen(log)).toEqual(["start", "a", "b"]);
    expect(log.slice(1, 0, 2).map(({ data }) => labelOf(data))).toEqual(["a"]);
    expect([log.length, log.count, log.firstOwn]).toEqual([3, 3, 0]);
  });

  it("are found by the id of the previous one", () => {
    const log = turns.begun();
    log.push(delta("a"));
    log.push(delta("b"));
    expect(log.indexAfter(0)).toBe(0);
    expect(log.indexAfter(1_000_000_001)).toBe(1);
    expect(log.indexAfter(1_000_000_003)).toBe(3);
    expect(log.indexAfter(1_999_999_999)).toBe(3);
    // An id of an unknown attempt starts from the beginning.
    expect(log.indexAfter(2_000_000_000)).toBe(0);
  });

  it("are grouped up to a number of characters, but at least one frame", () => {
    const log = turns.newLog();
    for (const text of ["a", "b", "c"]) log.push(delta(text));
    const chars = JSON.stringify(delta("a")).length;
    expect(log.endWithin(0, 1)).toBe(1);
    expect(log.endWithin(0, chars)).toBe(1);
    expect(log.endWithin(0, chars + 1)).toBe(2);
    expect(log.endWithin(1, 1_000)).toBe(3);
    expect(log.endWithin(0, 0)).toBe(0);
    expect(log.endWithin(3, 1_000)).toBe(3);
  });

  it("of a ready-made log are visible, and the log has ended", () => {
    const log = TurnLog.of([{ type: "start" }, delta("a")]);
    expect(seen(log)).toEqual(["start", "a"]);
    expect(log.slice(0, 0).map(({ id }) => id)).toEqual([1, 2]);
    expect([log.length, log.isEnded, log.rowsToEnd()]).toEqual([2, true, 0]);
  });
});

describe("a pushed chunk", () => {
  it("is visible at once, and written after two seconds", () => {
    const log = turns.begun();
    turns.nowMs += limits.turnLogMs - 1;
    log.push(delta("a"));
    expect(seen(log)).toEqual(["start", "a"]);
    expect(turns.written()).toEqual(["a", "f start"]);
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

  it("is written as soon as enough characters are pending", () => {
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

  it("is visible without a journal, and written nowhere", () => {
    const log = turns.newLog();
    turns.nowMs += limits.turnLogMs;
    log.push(delta("a"));
    log.note({ state });
    log.commit(() => log.push(delta("b")));
    expect(seen(log)).toEqual(["a", "b"]);
    expect(turns.journal.read()).toBe("");
    expect(log.rowsToEnd()).toBe(0);
  });

  it("is counted in the rows that the end needs", () => {
    const log = turns.begun();
    expect(log.rowsToEnd()).toBe(1);
    const text = "x".repeat(limits.turnLogChars / 2);
    for (let chars = 0; chars < limits.turnLogRowChars; chars += text.length) log.push(delta(text));
    expect(log.rowsToEnd()).toBe(2);
  });

  it("is visible, but not written, after a write failure", () => {
    const log = turns.begun();
    turns.nowMs += limits.turnLogMs;
    log.fail({ type: "error", errorText: "No." });
    expect(seen(log)).toEqual(["start", "error"]);
    log.commit(() => undefined);
    expect(turns.written()).toEqual(["a", "f start"]);
  });
});

describe("a commit", () => {
  it("writes pending chunks, notes and its own chunks in order", () => {
    const log = turns.begun();
    log.push(delta("a"));
    turns.nowMs += limits.turnLogMs;
    log.commit(() => {
      log.push(delta("b"));
      expect(turns.written()).toHaveLength(2);
      log.note({ state });
    });
    expect(turns.written()).toEqual(["a", "f start", "f a", "f b", "j"]);
    log.push(delta("c"));
    expect(turns.written()).toHaveLength(5);
  });

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

  it("waits for earlier ones that are not durable yet", async () => {
    const { durable, settle } = durability();
    const log = turns.begun({ durable });
    log.commit(() => log.push(delta("a")));
    await settle(1);
    expect(seen(log)).toEqual([]);
    await settle(0);
    expect(seen(log)).toEqual(["start", "a"]);
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
    expect(() => log.begin(turns.journal, head, save("begin"))).toThrow("No.");
    log.begin(turns.journal, head, () => undefined);
    expect(() => log.commit(save("commit"))).toThrow("No.");
    expect(() => log.end(save("end"))).toThrow("No.");
    expect(() => log.retry(turns.journal, second, save("retry"))).toThrow("No.");
    expect(() => log.resume(turns.journal, second, save("resume"))).toThrow("No.");
    const saved = turns.sql.all("SELECT name FROM saved").map(({ name }) => name);
    expect(saved).toEqual(["commit"]);
    expect(new Journal(turns.sql).head()).toEqual(head);
  });

  it("that ends the turn writes its final head", () => {
    const log = turns.begun();
    log.end(() => {
      log.push({ type: "finish" });
      return closed;
    });
    expect(new Journal(turns.sql).head()).toEqual(closed);
    expect(turns.written()).toEqual(["a", "f start", "f finish"]);
  });
});

it("a recovered turn is written where it was read", () => {
  turns.begun();
  const log = turns.newLog();
  log.recover(new Journal(turns.sql));
  log.commit(() => log.push(delta("a")));
  expect(turns.written()).toEqual(["a", "f start", "f a"]);
});
