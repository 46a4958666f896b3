import { beforeEach, describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { Journal } from "../../src/turn/log/journal.ts";
import { TurnLog } from "../../src/turn/log/turn-log.ts";
import {
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
});
