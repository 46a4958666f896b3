import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import type { SqlValue } from "../../src/store/rows/sql.ts";
import { History } from "../../src/turn/history/history.ts";
import { type StoredMessage, toUIMessage } from "../../src/turn/history/stored-message.ts";
import { NodeSql } from "../support/node-sql.ts";
import { slow } from "../support/slow.ts";
import { emptyHistory, START_MS, userMessage } from "../support/turn.ts";

const createdAt = new Date(START_MS).toISOString();

function answer(id: string, text: string): StoredMessage {
  return { id, role: "assistant", parts: [{ type: "text", text, state: "done" }], createdAt };
}

/** Returns a question or an answer whose parts have exactly `chars` characters as JSON. */
function message(id: string, chars: number): StoredMessage {
  const make = (text: string) => (id.startsWith("q") ? userMessage(id, text) : answer(id, text));
  const empty = JSON.stringify(make("").parts).length;
  return make("x".repeat(chars - empty));
}

function historyOf(...messages: readonly StoredMessage[]): History {
  const history = emptyHistory();
  for (const one of messages) history.add(one);
  return history;
}

function ids(messages: readonly StoredMessage[]): readonly string[] {
  return messages.map(({ id }) => id);
}

const full: StoredMessage = {
  ...answer("a1", "It is $nyc.temp."),
  parts: [
    { type: "step-start" },
    {
      type: "tool-get_weather",
      toolCallId: "c",
      state: "output-available",
      input: { city: "$x" },
      output: { $var: "nyc", value: { temp: 72 } },
    },
    { type: "text", text: "It is $nyc.temp, 😀\u0000'\"." },
  ],
  display: ["It is 72, 😀\u0000'\"."],
  metadata: { usage: { inputTokens: 1 } },
};

it("a message is read in the requested form, without changing the stored one", () => {
  const texts = ["$a", "plain", "$b and $c"];
  const parts: StoredMessage["parts"] = texts.flatMap((text) => [
    { type: "step-start" },
    { type: "reasoning", text: "$a", id: "r" },
    { type: "text", text },
  ]);
  const stored: StoredMessage = { ...full, parts, display: ["1", "plain", "2 and 3"] };
  const textsIn = (form: "display" | "reference") =>
    toUIMessage(stored, form).parts.flatMap((part) => (part.type === "text" ? part.text : []));
  expect(textsIn("reference")).toEqual(texts);
  expect(textsIn("display")).toEqual(["1", "plain", "2 and 3"]);
  expect(stored.parts).toBe(parts);
  const { id, role, metadata } = toUIMessage(stored, "display");
  expect({ id, role, metadata }).toEqual({
    id: "a1",
    role: "assistant",
    metadata: full.metadata,
  });
  const reasoning = toUIMessage(stored, "display").parts.filter(({ type }) => type === "reasoning");
  expect(reasoning).toMatchObject([{ text: "$a" }, { text: "$a" }, { text: "$a" }]);
});

describe.each(["read anew", "kept since it was read"])("the window of a prompt, %s", (when) => {
  function windowOf(messages: readonly StoredMessage[]): readonly StoredMessage[] {
    const sql = new NodeSql();
    migrate(sql);
    const history = new History(sql);
    for (const one of messages) {
      if (when !== "read anew") history.window();
      history.add(one);
    }
    return history.window();
  }

  const budget = limits.maxHistoryChars;
  const newest = [message("q2", 100), message("a2", 200)];

  it("leaves out the oldest, respects its budget to the character, and starts with a question", () => {
    for (const chars of [budget - 399, budget - 300, budget]) {
      const chat = [message("q1", 100), message("a1", chars), ...newest];
      expect(ids(windowOf(chat))).toEqual(["q2", "a2"]);
    }
  });

  it("includes the newest question, however long it is", () => {
    expect(ids(windowOf([...newest, message("q3", budget + 1)]))).toEqual(["q3"]);
  });

  it("contains 120,000 characters by default", () => {
    const half = limits.maxHistoryChars / 2;
    expect(ids(windowOf([message("q1", half), message("q2", half)]))).toEqual(["q1", "q2"]);
    expect(ids(windowOf([message("q1", half + 1), message("q2", half)]))).toEqual(["q2"]);
  });

  it("counts texts as written, not as displayed, and omits the displayed ones", () => {
    const shown: StoredMessage = { ...message("a1", 100), display: ["x".repeat(100_000)] };
    const window = windowOf([message("q1", 100), shown, message("q2", budget - 200)]);
    expect(window).toEqual([message("q1", 100), message("a1", 100), message("q2", budget - 200)]);
  });
});

it.each([10, limits.maxRecordBytes - 500, limits.maxRecordBytes * 2.5])(
  "knows how many rows a message of %i characters takes",
  (chars) => {
    const sql = new NodeSql();
    migrate(sql);
    const written: number[] = [];
    const counting = { all: sql.all.bind(sql), transaction: sql.transaction.bind(sql) };
    const run: NodeSql["run"] = (statement, ...bindings) => {
      if (statement.startsWith("INSERT")) written.push(1);
      sql.run(statement, ...bindings);
    };
    const history = new History({ ...counting, run });
    const long = answer("a1", "x".repeat(chars));
    history.add(long);
    expect(history.rowsFor(long)).toBe(written.length);
  },
);

describe("a question that is answered again", () => {
  const asked = () =>
    historyOf(
      userMessage("q1", "?"),
      answer("a1", "!"),
      userMessage("q2", "??"),
      answer("a2", "!"),
      answer("a3", "!"),
    );
  const left = (history: History) => ids(history.page({ limit: 10 }).messages);

  it("loses what follows it, whether it is named by its own id, by an answer's or not at all", () => {
    for (const id of [undefined, "q2", "a2", "a3"]) {
      const history = asked();
      expect(history.hasQuestion(id)).toBe(true);
      history.removeAnswers(id);
      expect(left(history)).toEqual(["q1", "a1", "q2"]);
    }
  });

  it("loses later questions too", () => {
    const history = asked();
    history.removeAnswers("a1");
    expect(left(history)).toEqual(["q1"]);
  });

  it("needs a known id and a question; otherwise nothing is removed", () => {
    const history = asked();
    expect(history.hasQuestion("nobody")).toBe(false);
    history.removeAnswers("nobody");
    expect(left(history)).toHaveLength(5);
    expect(historyOf(answer("a1", "!")).hasQuestion(undefined)).toBe(false);
  });

  it("is removed with all later messages when it is edited", () => {
    const history = asked();
    history.removeFrom("nobody");
    expect(left(history)).toHaveLength(5);
    history.removeFrom("q2");
    expect(left(history)).toEqual(["q1", "a1"]);
    history.removeFrom("q1");
    expect(left(history)).toEqual([]);
  });
});

describe("a page", () => {
  it("leads to older ones until there are none, even with a repeated id", () => {
    const messages = ["u0", "u1", "a1", "u1", "a2"].map((id) => userMessage(id, "?"));
    const history = historyOf(...messages);
    const seen: string[] = [];
    let before: string | undefined;
    do {
      const page = history.page({ limit: 2, ...(before === undefined ? {} : { before }) });
      seen.unshift(...ids(page.messages));
      before = page.next;
    } while (before !== undefined);
    expect(seen).toHaveLength(5);
    expect(new Set(seen).size).toBe(5);
    expect(history.page({ limit: 2, before: "nobody" })).toEqual({ messages: [] });
  });

  it("ends before it is too large, but contains at least one message", slow, () => {
    const history = historyOf(
      ...["a", "b", "c"].map((id) => userMessage(id, "x".repeat(5_000_000))),
    );
    expect(history.page({ limit: 10 })).toMatchObject({ messages: [{ id: "c" }], next: "c" });
    expect(history.page({ limit: 10, before: "b" })).toMatchObject({ messages: [{ id: "a" }] });
  });
});

it("a message of over a megabyte is stored even after a failed write rolled back the table of chunks", () => {
  const sql = new FailingSql();
  migrate(sql);
  const history = new History(sql);
  const large = userMessage("q", "x".repeat(1_200_000));
  sql.failsAt = "INTO message";
  expect(() => history.add(large)).toThrow("disk full");
  sql.failsAt = undefined;
  history.add(large);
  expect(history.newest()).toEqual(large);
});

class FailingSql extends NodeSql {
  failsAt: string | undefined;

  override run(statement: string, ...bindings: readonly SqlValue[]): void {
    if (this.failsAt !== undefined && statement.includes(this.failsAt))
      throw new Error("disk full");
    super.run(statement, ...bindings);
  }
}
