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
import { historyRecord } from "../../src/turn/history/history-record.ts";
import type { MessagePart } from "../../src/turn/history/message-parts.ts";
import {
  charsOf,
  fold,
  outlineLine,
  type OutlineLine,
  outlineMessage,
  summaryLine,
} from "../../src/turn/history/compaction.ts";
import { tool } from "ai";
import * as z from "zod";
import { nodeQueryDatabases } from "../../packages/adapters/src/agent/node-query-engine.ts";
import { queryTools } from "../../packages/query/src/query-tools.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";
import type { PlatformServices } from "../../src/turn/toolbox.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, resultShown, promptOf, type Turn } from "../support/turn.ts";

function charsIn(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, { parts }) => sum + JSON.stringify(parts).length, 0);
}

function promptChars({ history }: ConversationData): number {
  const lines = history.compacted?.lines ?? [];
  return charsIn(history.window()) + lines.reduce((sum, { text }) => sum + text.length, 0);
}

const rowsIn = (history: History): readonly unknown[] => history.page({ limit: 10_000 }).messages;

describe("the messages of a prompt", () => {
  it("never exceed the budget, have the last two turns, and continue an outline that grows rarely", () => {
    const data = dataIn();
    let before = 0;
    let compactions = 0;
    for (let turn = 1; turn <= 200; turn++) {
      const [question, answer] = messagesOf(turn);
      data.history.add(question);
      data.history.compact(optionsFor(data));
      const { turns = 0, lines = [] } = data.history.compacted ?? {};
      const isCompacted = turns !== before;
      expect(turns).toBeGreaterThanOrEqual(before);
      if (isCompacted) compactions++;
      // At most half of the budget after a compaction, so that the next one is far.
      const most = isCompacted ? BUDGET / 2 + charsIn([question]) : BUDGET;
      expect(promptChars(data)).toBeLessThanOrEqual(most);
      const window = data.history.window();
      const questions = window.filter(({ role }) => role === "user");
      expect(questions.length).toBeGreaterThanOrEqual(Math.min(turn, 3));
      expect([window[0]?.id, questions.at(-1)?.id]).toEqual([`q${turns + 1}`, `q${turn}`]);
      expect(lines.map(({ to }) => to)).toEqual(
        lines.map((_, at) => turns - lines.length + at + 1),
      );
      before = turns;
      data.history.add(answer);
    }
    expect(compactions).toBeGreaterThan(10);
    expect(compactions).toBeLessThan(80);
  });

  it("are the same, with their outline, after a restart", () => {
    const sql = new NodeSql();
    const { history } = afterTurns(40, dataIn(sql));
    const again = dataIn(sql);
    expect(again.history.compacted).toEqual(history.compacted);
    expect(again.history.window()).toEqual(history.window());
    again.history.compact(optionsFor(again));
    expect(again.history.compacted).toEqual(history.compacted);
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
    const { turns = 0 } = data.history.compacted ?? {};
    data.history.removeFrom(`q${turns + 1}`);
    expect(data.history.compacted).toBeUndefined();
    data.history.add(messagesOf(41)[0]);
    data.history.compact(optionsFor(data));
    expect(data.history.compacted?.turns).toBeLessThanOrEqual(turns - 2);
    expect(data.history.window().length).toBeGreaterThanOrEqual(5);
    data.history.removeFrom("q3");
    expect(data.history.window().map(({ id }) => id)).toEqual(["q1", "a1", "q2", "a2"]);
    expect(data.store.list()).toEqual([]);
  });

  it("stay compacted when the newest question is asked or answered again", () => {
    const data = afterTurns(40);
    const { compacted } = data.history;
    data.history.add(messagesOf(41)[1]);
    data.history.removeAnswers(undefined);
    data.history.removeFrom("q41");
    data.history.add(messagesOf(41)[0]);
    expect(data.history.compacted).toBe(compacted);
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
  const count = history.compacted?.seq ?? 0;
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

  it("is listed first, in pages too, and is not exported", async () => {
    const data = afterTurns(20);
    for (const name of ["a", "b", "c"]) await data.store.save({ name, value: 1 });
    const { store } = data;
    const all = ["history", "a", "b", "c"];
    const namesOf = (infos: readonly { readonly name: string }[]) => infos.map(({ name }) => name);
    expect([namesOf(store.list()), store.count()]).toEqual([all, 4]);
    for (const limit of [1, 2, 5]) {
      const names: string[] = [];
      for (let after: number | undefined = 0; after !== undefined;) {
        const { variables, next } = store.page({ after, limit });
        expect(variables.length).toBeLessThanOrEqual(limit);
        names.push(...namesOf(variables));
        after = next;
      }
      expect(names).toEqual(all);
    }
    const records = JSON.stringify(Array.from(store.transfer.records(), ({ record }) => record));
    expect(records).not.toContain('"history"');
  });

  it("fails with a conflict if it changes while it is read", async () => {
    const data = afterTurns(40);
    const open = data.store.open("history");
    await open?.read(0, 10);
    data.history.removeFrom("q2");
    await expect(open?.read(0, open.info.bytes)).rejects.toMatchObject({ code: "conflict" });
  });
});

const createdAt = "2026-01-02T03:04:05.678Z";

function message(role: StoredMessage["role"], ...parts: readonly MessagePart[]): StoredMessage {
  return { id: role, role, parts, createdAt };
}

function call(name: string, fields: object): MessagePart {
  return { type: `tool-${name}`, toolCallId: name, input: {}, ...fields } as MessagePart;
}

function lineOf(...messages: readonly StoredMessage[]): string {
  return outlineLine(messages.map((one) => historyRecord(one, 7)));
}

const question = message("user", { type: "text", text: "What's  the\nweather?" });

describe("the line of a turn", () => {
  it("contains its number, time, question, calls with their variables, and answer", () => {
    const answer = message(
      "assistant",
      { type: "step-start" },
      call("get_weather", { state: "output-available", output: { $var: "weather_nyc", value: 9 } }),
      call("send", { state: "output-error", errorText: "tool_failed: It is down." }),
      call("run_code", {
        state: "output-available",
        output: { vars: [{ $var: "a" }, { $var: "b" }] },
      }),
      { type: "text", text: 'It is $weather_nyc, "cold".' },
    );
    expect(lineOf(question, answer)).toBe(
      `7. 2026-01-02 03:04 user: "What's the weather?" calls: get_weather (weather_nyc), send (failed), run_code (a b) assistant: "It is $weather_nyc, 'cold'."`,
    );
  });

  it("contains the first 160 characters of a text", () => {
    const line = lineOf(message("user", { type: "text", text: "q".repeat(1_000) }));
    expect(line).toContain(`user: "${"q".repeat(160)}…"`);
  });

  it("is one line of at most 480 characters, and cannot close the outline", () => {
    const text = fc.string({ unit: "binary", maxLength: 2_000 });
    const tools = fc.array(fc.string({ unit: "binary", maxLength: 100 }), { maxLength: 40 });
    fc.assert(
      fc.property(text, text, tools, (asked, answered, names) => {
        const calls = names.map((name) => call(name, { state: "input-available" }));
        const line = lineOf(
          message("user", { type: "text", text: `</history>\n${asked}` }),
          message("assistant", ...calls, { type: "text", text: answered }),
        );
        expect(line.length).toBeLessThanOrEqual(480);
        expect(line).not.toMatch(/[\n\r\u2028]|<\/history>/u);
        expect(line.isWellFormed()).toBe(true);
      }),
    );
  });

  it("names a person's file and its variable", () => {
    const handle = JSON.stringify({ $var: "photo", type: "bytes", count: 3 });
    const file = { type: "file", mediaType: "image/png", url: "/photo" } as const;
    const given = message("user", { ...file, providerMetadata: { byref: { handle } } });
    expect(lineOf(given)).toContain(`user: "{'$var':'photo','type':'bytes','count':3}"`);
    expect(historyRecord(given, 1).variables).toEqual(["photo"]);
  });
});

describe("an outline that exceeds its share", () => {
  const lines = Array.from({ length: 10 }, (_, index) => ({
    from: index + 1,
    to: index + 1,
    seq: 2 * index + 1,
    text: "x".repeat(99),
  }));

  it("drops its oldest lines down to half of the share, so that this happens rarely", () => {
    expect(fold(lines, 1_000)).toBe(lines);
    expect(fold(lines, 999).map(({ from }) => from)).toEqual([7, 8, 9, 10]);
  });

  it("keeps a summary while it fits, then drops it and names its turns", () => {
    const agent = { name: "a", description: "", instructions: "", tools: {} };
    const shown = (all: readonly OutlineLine[]) =>
      outlineMessage({ variable: "history", lines: all }, agent).content;
    const summary = summaryLine(lines.slice(0, 6), `They talked of orders. ${"y".repeat(900)}`);
    if (summary === undefined) throw new Error("There is no summary.");
    const summarized = [summary, ...lines.slice(6)];
    expect(charsOf(summarized)).toBeLessThanOrEqual(charsOf(lines));
    expect(fold(summarized, 1_000)).toBe(summarized);
    expect(shown(summarized)).toContain("\n1 to 6, summary: They talked of orders. yyy");
    const rest = fold(summarized, 900);
    expect(rest.map(({ from }) => from)).toEqual([7, 8, 9, 10]);
    expect(shown(rest)).toContain("\n1 to 6: in $history only.\n");
    expect(shown(rest)).not.toContain("They talked");
  });
});

/** Creates a conversation with a tool whose results are numbers, and with the budget of these tests. */
function talking(more: object = {}, services: PlatformServices = {}) {
  const data = dataIn();
  const execute = ({ at }: { at: number }) => ({ total: at * 1_001 });
  const look = tool({ inputSchema: z.object({ at: z.number() }), execute });
  const { store, history } = data;
  const agent = { name: "t", description: "", instructions: "Help.", tools: { look } };
  const conversation = new Conversation({
    agent: { ...agent, historyChars: BUDGET, ...more },
    store,
    history,
    services,
  });
  return { conversation, data };
}

function turnSteps(turn: number): readonly Step[] {
  return [
    [toolCall("look", { at: turn }, { id: `c${turn}` }), finish("tool-calls")],
    [text(`Total of ${turn}: $look_${turn}.total. ${"x".repeat(300)}`), finish("stop")],
  ];
}

it("a compacted conversation answers queries on $history, and refuses a model that edits it", async () => {
  const queries = (wrap: WrapOptions) =>
    queryTools({ databases: nodeQueryDatabases(wrap.store), wrap });
  const { conversation } = talking({}, { queries });
  for (let turn = 1; turn <= 20; turn++) {
    await conversation.say({ question: `The word is w${turn}w.`, steps: turnSteps(turn) });
  }
  const sql = "SELECT turn, text FROM $history WHERE role = 'user' AND text LIKE '%w3w%'";
  const input = { name: "$history", edits: [{ find: "w3w", replace: "w4w" }] };
  const asked = await conversation.say({
    steps: [
      [toolCall("query_variables", { sql }, { id: "q" }), finish("tool-calls")],
      [toolCall("edit_variable", input, { id: "e" }), finish("tool-calls")],
      [text("$history_query_1[0].text"), finish("stop")],
    ],
  });
  const found = [{ turn: 3, text: "The word is w3w." }];
  expect(resultShown(asked, 1, "q")).toMatchObject({ value: found });
  expect(resultShown(asked, 2, "e")).toContain("bad_name: $history is read-only");
  expect(asked.result.message.parts.at(-1)).toMatchObject({ text: "The word is w3w." });
});

it("a compacted conversation stays tainted while the outline repeats tainted text, and marks $history as untrusted", async () => {
  const { conversation, data } = talking({ policies: { look: { trusted: false } } });
  await conversation.say({ question: "Look.", steps: turnSteps(1) });
  const taints: boolean[] = [];
  const allOf = () => data.history.page({ limit: 1_000 }).messages;
  data.store.delete("look_1");
  for (let turn = 2; turn <= 60; turn++) {
    await conversation.say({ steps: [[text(`${turn} ${"x".repeat(300)}`), finish("stop")]] });
    taints.push(allOf().at(-1)?.tainted === true);
  }
  const { lines = [], turns } = data.history.compacted ?? {};
  expect(turns).toBeGreaterThan(50);
  expect(taints[0]).toBe(true);
  // The outline repeats answers that were written under taint, so each turn taints the next.
  expect(taints.every((isTainted) => isTainted)).toBe(true);
  expect(lines.every(({ isTainted }) => isTainted === true)).toBe(true);
  expect(data.store.info("history")?.trusted).toBe(false);
});

it("a compacted conversation shows no sealed value in the outline or $history, whatever the model calls", async () => {
  const SECRET = "sk-canary-4711";
  const execute = () => ({ key: SECRET, rows: [SECRET] });
  const vault = tool({ inputSchema: z.object({}), execute });
  const { conversation, data } = talking({
    tools: { vault },
    policies: { vault: { sealed: true } },
  });
  await conversation.say({
    question: "Get the key, and say it.",
    steps: [
      [toolCall("vault", {}, { id: "v" }), finish("tool-calls")],
      [text("The key is $vault_1.key."), finish("stop")],
    ],
  });
  for (let turn = 2; turn <= 30; turn++) {
    await conversation.say({ steps: [[text("x".repeat(400)), finish("stop")]] });
  }
  expect(JSON.stringify(data.history.page({ limit: 100 }).messages)).toContain(SECRET);
  const calls = [
    ["read_variable", { name: "$history" }],
    ["read_variable", { name: "$history[1].tools[0]" }],
    ["search_variable", { name: "$history", query: "canary" }],
    ["search_variable", { name: "$history", query: "sk-.*", pattern: true }],
    ["filter_variable", { name: "$history", where: { text: { contains: "canary" } } }],
    ["set_variable", { name: "copy", value: "$history" }],
  ] as const;
  const asked = await conversation.say({
    steps: [
      [
        ...calls.map(([name, input], at) => toolCall(name, input, { id: `c${at}` })),
        finish("tool-calls"),
      ],
      [toolCall("read_variable", { name: "copy" }, { id: "copied" }), finish("tool-calls")],
      [text("$history[1].text"), finish("stop")],
    ],
  });
  expect(resultShown(asked, 2, "copied")).toBeDefined();
  expect(JSON.stringify(asked.calls)).not.toContain(SECRET);
  expect(JSON.stringify(await data.store.read("history"))).not.toContain(SECRET);
  // References in a value are not resolved.
  expect(asked.result.message.parts.at(-1)).toMatchObject({ text: "The key is $vault_1.key." });
});

const agent = { name: "t", description: "", instructions: "Help.", historyChars: BUDGET };

function outlineIn(turn: Turn, call = 0): string {
  return JSON.stringify(promptOf(turn, call).find(({ role }) => role === "user"));
}

/** Creates a conversation. If `isTainted`, some compacted answers are tainted, but none in the window. */
function talked(isTainted: boolean) {
  const data = dataIn();
  const { history } = data;
  for (let turn = 1; turn <= 32 || isInWindow(history); turn++) {
    const [question, answer] = messagesOf(turn);
    const written = isTainted && turn > 20 && turn <= 32 ? { ...answer, tainted: true } : answer;
    history.add(question);
    history.compact(optionsFor(data));
    history.add(written);
  }
  return data;
}

const isInWindow = (history: History) => history.window().some(({ id }) => id === "a32");

it.each([true, undefined])("a summary of turns is tainted as they are: %s", async (isTainted) => {
  const { store, history } = talked(isTainted === true);
  expect(history.window().some(({ tainted }) => tainted === true)).toBe(false);
  const summarize = async () => "They looked at numbers.";
  await history.summarize(summarize, () => true);
  const { lines = [] } = history.compacted ?? {};
  expect(lines).toMatchObject([{ isSummary: true }]);
  expect(lines[0]?.isTainted).toBe(isTainted);
  const chat = new Conversation({ agent: { ...agent, tools: {} }, store, history });
  const turn = await chat.say({ steps: [[text("Well."), finish("stop")]] });
  expect(outlineIn(turn)).toContain("summary: They looked at numbers.");
  expect(history.newest()?.tainted).toBe(isTainted);
});
