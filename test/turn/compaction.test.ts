import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ConversationData } from "../../src/edge/conversation-data.ts";
import * as limits from "../../src/limits.ts";
import type { History } from "../../src/turn/history/history.ts";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import type { Json } from "../../src/value/json.ts";
import { type Path, readPath } from "../../src/value/path.ts";
import { afterTurns, BUDGET, dataIn, messagesOf, optionsFor } from "../support/compacted.ts";
import { NodeSql } from "../support/node-sql.ts";
import { slow } from "../support/slow.ts";

function charsIn(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, { parts }) => sum + JSON.stringify(parts).length, 0);
}

function promptChars({ history }: ConversationData): number {
  const lines = history.compaction.compacted?.lines ?? [];
  return charsIn(history.window()) + lines.reduce((sum, { text }) => sum + text.length, 0);
}

function rowsIn(history: History): readonly unknown[] {
  return history.page({ limit: 10_000 }).messages;
}

describe("the messages of a prompt", () => {
  it("never exceed the budget, and always have the last two turns", () => {
    const data = dataIn();
    for (let turn = 1; turn <= 200; turn++) {
      const [question, answer] = messagesOf(turn);
      data.history.add(question);
      data.history.compact(optionsFor(data));
      expect(promptChars(data)).toBeLessThanOrEqual(BUDGET);
      const questions = data.history.window().filter(({ role }) => role === "user");
      expect(questions.length).toBeGreaterThanOrEqual(Math.min(turn, 3));
      expect(questions.at(-1)?.id).toBe(`q${turn}`);
      data.history.add(answer);
    }
  });

  it("take at most half of the budget after a compaction, so that compactions are rare", () => {
    const data = dataIn();
    let before = data.history.compaction.compacted;
    let compactions = 0;
    for (let turn = 1; turn <= 100; turn++) {
      const [question, answer] = messagesOf(turn);
      data.history.add(question);
      data.history.compact(optionsFor(data));
      const { compacted } = data.history.compaction;
      if (compacted !== before) {
        compactions++;
        expect(promptChars(data)).toBeLessThanOrEqual(BUDGET / 2 + charsIn([question]));
      }
      before = compacted;
      data.history.add(answer);
    }
    expect(compactions).toBeLessThan(40);
  });

  it("continue the outline: each turn is in one of the two, and stays compacted", () => {
    const data = dataIn();
    let last = 0;
    for (let turn = 1; turn <= 60; turn++) {
      const [question, answer] = messagesOf(turn);
      data.history.add(question);
      data.history.compact(optionsFor(data));
      const { turns = 0, lines = [] } = data.history.compaction.compacted ?? {};
      expect(turns).toBeGreaterThanOrEqual(last);
      expect(data.history.window()[0]?.id).toBe(`q${turns + 1}`);
      expect(lines.map(({ to }) => to)).toEqual(
        lines.map((_, at) => turns - lines.length + at + 1),
      );
      last = turns;
      data.history.add(answer);
    }
    expect(last).toBeGreaterThan(40);
  });

  it("are the same, with their outline, after a restart", () => {
    const sql = new NodeSql();
    const { history } = afterTurns(40, dataIn(sql));
    const again = dataIn(sql);
    expect(again.history.compaction.compacted).toEqual(history.compaction.compacted);
    expect(again.history.window()).toEqual(history.window());
    again.history.compact(optionsFor(again));
    expect(again.history.compaction.compacted).toEqual(history.compaction.compacted);
  });

  it("keep turns that are larger than the budget, up to 120,000 characters", () => {
    for (const [chars, kept] of [
      [50_000, ["q18", "a18", "q19", "a19", "q20"]],
      [70_000, ["q19", "a19", "q20"]],
      [130_000, ["q20"]],
    ] as const) {
      const data = afterTurns(17);
      for (const turn of [18, 19]) {
        const [question, answer] = messagesOf(turn, chars);
        if (turn > 18) data.history.add(question);
        data.history.add(answer);
      }
      data.history.add(messagesOf(20)[0]);
      data.history.compact(optionsFor(data));
      expect(data.history.window().map(({ id }) => id)).toEqual(kept);
    }
    expect(limits.maxHistoryChars).toBe(120_000);
  });

  it("are compacted again when a removal leaves fewer than two turns", () => {
    const data = afterTurns(40);
    const { turns = 0 } = data.history.compaction.compacted ?? {};
    data.history.removeFrom(`q${turns + 1}`);
    expect(data.history.compaction.compacted).toBeUndefined();
    data.history.add(messagesOf(41)[0]);
    data.history.compact(optionsFor(data));
    expect(data.history.compaction.compacted?.turns).toBeLessThanOrEqual(turns - 2);
    expect(data.history.window().length).toBeGreaterThanOrEqual(5);
    data.history.removeFrom("q3");
    expect(data.history.window().map(({ id }) => id)).toEqual(["q1", "a1", "q2", "a2"]);
    expect(data.store.list()).toEqual([]);
  });

  it("stay compacted when the newest question is asked or answered again", () => {
    const data = afterTurns(40);
    const { compacted } = data.history.compaction;
    data.history.add(messagesOf(41)[1]);
    data.history.removeAnswers(undefined);
    data.history.removeFrom("q41");
    data.history.add(messagesOf(41)[0]);
    expect(data.history.compaction.compacted).toBe(compacted);
    expect(rowsIn(data.history)).toHaveLength(81);
  });

  it("keep their ids when compacted: a question with a used id gets another one", () => {
    const sql = new NodeSql();
    const { history } = afterTurns(40, dataIn(sql));
    const again = dataIn(sql).history;
    for (const known of [history, again]) {
      for (const id of ["q1", "a1", "q20", "q41"]) expect(known.has(id)).toBe(true);
      for (const id of ["q42", "a41", ""]) expect(known.has(id)).toBe(false);
    }
    again.add({ ...messagesOf(2)[0], id: "a1" });
    expect(again.newest()?.id).not.toBe("a1");
    expect(again.get("a1")?.role).toBe("assistant");
  });
});

/** Computes the value of `$history` independently. */
function recordsOf({ history }: ConversationData): readonly Json[] {
  const count = history.compaction.compacted?.seq ?? 0;
  return history
    .page({ limit: 10_000 })
    .messages.slice(0, count)
    .map(({ role, createdAt: at, parts }, index) => {
      const turn = Math.floor(index / 2) + 1;
      const text = parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n\n");
      if (role === "user") return { turn, at, role, text, tools: [], variables: [] };
      const output = { $var: `look_${turn}`, value: { total: turn * 1_001 } };
      const tools = [{ name: "look", input: { at: turn }, output }];
      return { turn, at, role, text, tools, variables: [`look_${turn}`] };
    });
}

describe("$history", () => {
  it("has the same paths as a stored value, read in parts", slow, async () => {
    const data = afterTurns(40);
    const records = recordsOf(data);
    const segment = fc.oneof(
      fc.record({ index: fc.integer({ min: -80, max: 80 }) }),
      fc.constant({ each: true as const }),
      fc.record({ from: fc.integer({ min: -80, max: 80 }), to: fc.integer({ min: -80, max: 80 }) }),
      fc.record({ from: fc.integer({ min: -80, max: 80 }) }),
      fc.record({ key: fc.constantFrom("text", "turn", "tools", "name", "output", "no") }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(segment, { maxLength: 4 }), async (path: Path) => {
        expect(await data.store.readPath("history", path)).toEqual(readPath(records, path));
      }),
      { numRuns: 500 },
    );
  });

  it("is served as bytes, in any order", async () => {
    const data = afterTurns(40);
    const bytes = Buffer.from(JSON.stringify(recordsOf(data)));
    const open = data.store.open("history");
    if (open === undefined) throw new Error("not there");
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length), fc.nat(bytes.length), async (from, length) => {
        const read = await open.read(from, from + length);
        expect(Buffer.from(read).equals(bytes.subarray(from, from + length))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("cannot be written, changed or deleted, and reserves its name", async () => {
    const { store } = afterTurns(20);
    const code = { code: "bad_name" };
    await expect(store.save({ name: "history", value: 1 })).rejects.toMatchObject(code);
    await expect(store.save({ name: "history", value: [], mode: "append" })).rejects.toMatchObject(
      code,
    );
    expect(() => store.delete("history")).toThrow(expect.objectContaining(code));
    expect(() => store.update("history", { pinned: true })).toThrow(expect.objectContaining(code));
    const named = await store.save({
      name: { base: "history", numbered: false, inputDigest: "" },
      value: 1,
    });
    expect(named.name).toBe("history_2");
    expect(store.reset(0)).toEqual(["history_2"]);
    expect(store.info("history")?.type).toBe("array");
  });

  it("has another name if the application has a variable with this one", async () => {
    const data = dataIn();
    await data.store.save({ name: "history", value: "mine" });
    afterTurns(20, data);
    expect(await data.store.read("history")).toBe("mine");
    expect(data.store.info("history_1")?.readOnly).toBe(true);
    data.store.delete("history");
    expect(await data.store.readPath("history_1", [{ index: 0 }, { key: "text" }])).toEqual({
      found: true,
      value: "Question 1?",
    });
  });

  it("is listed first, even in pages, and is not exported", async () => {
    const data = afterTurns(20);
    for (const name of ["a", "b", "c"]) await data.store.save({ name, value: 1 });
    const { store } = data;
    expect(store.list().map(({ name }) => name)).toEqual(["history", "a", "b", "c"]);
    expect(store.list({ last: 3 }).map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(store.list({ names: ["c", "history"] }).map(({ name }) => name)).toEqual([
      "history",
      "c",
    ]);
    expect(store.count()).toBe(4);
    for (const limit of [1, 2, 3, 4, 5]) {
      const names: string[] = [];
      for (let after: number | undefined = 0; after !== undefined;) {
        const { variables, next } = store.page({ after, limit });
        expect(variables.length).toBeLessThanOrEqual(limit);
        names.push(...variables.map(({ name }) => name));
        after = next;
      }
      expect(names).toEqual(["history", "a", "b", "c"]);
    }
    expect(store.transfer.names()).toEqual(["a", "b", "c"]);
  });

  it("fails with a conflict if it changes while it is read", async () => {
    const data = afterTurns(40);
    const open = data.store.open("history");
    await open?.read(0, 10);
    data.history.removeFrom("q2");
    await expect(open?.read(0, open.info.bytes)).rejects.toMatchObject({ code: "conflict" });
  });
});
