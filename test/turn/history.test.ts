import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import type { SqlValue } from "../../src/store/rows/sql.ts";
import { History } from "../../src/turn/history/history.ts";
import { type StoredMessage, toUIMessage } from "../../src/turn/history/stored-message.ts";
import { NodeSql } from "../support/node-sql.ts";
import { slow } from "../support/slow.ts";
import { emptyHistory, START_MS, userMessage, readMessage } from "../support/turn.ts";
import { type UIMessage, convertToModelMessages, tool } from "ai";
import * as z from "zod";
import { chunksOf } from "../../src/edge/turns/posted-turns.ts";
import { toModelMessages } from "../../src/turn/history/prompt.ts";

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

const ids = (messages: readonly StoredMessage[]): readonly string[] => messages.map(({ id }) => id);

it("a message is read in the requested form, text by text", () => {
  const texts = ["$a", "plain", "$b and $c"];
  const thought = { type: "reasoning", text: "$a", id: "r" } as const;
  const parts = texts.flatMap((text) => [thought, { type: "text" as const, text }]);
  const stored: StoredMessage = { ...answer("a1", ""), parts, display: ["1", "plain", "2 and 3"] };
  const textsIn = (form: "display" | "reference") =>
    toUIMessage(stored, form).parts.flatMap((part) => ("text" in part ? part.text : []));
  expect(textsIn("reference")).toEqual(["$a", "$a", "$a", "plain", "$a", "$b and $c"]);
  expect(textsIn("display")).toEqual(["$a", "1", "$a", "plain", "$a", "2 and 3"]);
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

it("a page leads to older ones until there are none, even with a repeated id", () => {
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

it("a page ends before it is too large, but contains at least one message", slow, () => {
  const history = historyOf(...["a", "b", "c"].map((id) => userMessage(id, "x".repeat(5_000_000))));
  expect(history.page({ limit: 10 })).toMatchObject({ messages: [{ id: "c" }], next: "c" });
  expect(history.page({ limit: 10, before: "b" })).toMatchObject({ messages: [{ id: "a" }] });
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

const input = { a: 1 };
const call = (toolCallId: string) => ({ type: "tool-act", toolCallId, input }) as const;

/** All kinds of parts in a stored answer. */
const parts = [
  { type: "step-start" },
  { type: "reasoning", id: "r", text: "Hm.", state: "done", providerMetadata: { p: { s: "1" } } },
  { type: "text", text: "First.", state: "done", citations: [{ startIndex: 0, endIndex: 5 }] },
  { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" },
  { type: "source-url", sourceId: "s", url: "https://example.com", title: "T" },
  {
    ...call("done"),
    title: "Act",
    toolMetadata: { from: "here" },
    callProviderMetadata: { p: { signature: "s" } },
    resultProviderMetadata: { p: { at: 1 } },
    state: "output-available",
    output: { $var: "act_1" },
  },
  { ...call("failed"), state: "output-error", errorText: "tool_failed: no" },
  { ...call("no"), state: "output-denied", approval: { id: "y", approved: false } },
  { type: "step-start" },
  {
    type: "dynamic-tool",
    toolName: "far",
    toolCallId: "far",
    input,
    state: "output-available",
    output: 1,
  },
  { type: "text", text: "Second.", state: "done" },
  { ...call("open"), state: "input-available" },
  { ...call("waits"), state: "approval-requested", approval: { id: "x" } },
] as unknown as UIMessage["parts"];

it("a stored answer that is sent again is the same for a client", async () => {
  const message: UIMessage = { id: "m", role: "assistant", parts };
  const read = await readMessage(chunksOf(message));
  expect([read.errors, read.message?.id]).toEqual([[], "m"]);
  // Compares without the ids of reasoning, which matter in the stream only.
  const known = (all: UIMessage["parts"]) =>
    all.map((part) => JSON.parse(JSON.stringify({ ...part, id: undefined })) as object);
  expect(known(read.message?.parts ?? [])).toEqual(known(parts));
});

const said: StoredMessage = {
  id: "m1",
  role: "assistant",
  parts: [{ type: "text", text: "$orders are here.", state: "done" }],
  createdAt,
};
it("past messages show past results with the current tool's toModelOutput", async () => {
  const call = {
    type: "tool-look",
    toolCallId: "1",
    input: {},
    output: { $var: "orders" },
  } as const;
  const looked = { ...said, parts: [{ ...call, state: "output-available" as const }] };
  const inputSchema = z.object({});
  const toModelOutput = () => ({ type: "text" as const, value: "as the tool says" });
  const look = tool({ inputSchema, execute: () => "", toModelOutput });
  expect(JSON.stringify(await toModelMessages([looked], { look }))).toContain("as the tool says");
});

it("past messages leave out calls without a result, as the SDK does", async () => {
  const call = { type: "tool-look", toolCallId: "1", input: {} } as const;
  const of: StoredMessage["parts"] = [
    { ...call, state: "input-available" },
    { ...call, state: "input-available", providerExecuted: true },
    { ...call, state: "output-available", output: "half", preliminary: true },
    { ...call, state: "approval-requested", approval: { id: "a" } },
    { ...call, state: "output-error", errorText: "tool_failed: no disk" },
    { ...call, state: "output-available", output: "whole" },
  ];
  const options = { tools: {}, ignoreIncompleteToolCalls: true };
  const sdk = await convertToModelMessages([{ role: "assistant", parts: [...of] }], options);
  expect(sdk.map(({ content }) => content.length)).toEqual([2, 2]);
  expect(await toModelMessages([{ ...said, parts: of }], {})).toEqual(sdk);
});
