import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { nodeQueryDatabases } from "../../packages/adapters/src/agent/node-query-engine.ts";
import { queryTools } from "../../packages/query/src/query-tools.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";
import type { PlatformServices } from "../../src/turn/toolbox.ts";
import { BUDGET, dataIn, messagesOf, optionsFor } from "../support/compacted.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, resultShown, promptOf, type Turn } from "../support/turn.ts";
import type { History } from "../../src/turn/history/history.ts";
import { summarizeOutline } from "../../src/turn/history/summarize.ts";

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

describe("a compacted conversation", () => {
  it("answers queries on $history, and refuses a model that edits it", async () => {
    const queries = (wrap: WrapOptions) =>
      queryTools({ databases: nodeQueryDatabases(wrap.store), wrap });
    const { conversation, data } = talking({}, { queries });
    for (let turn = 1; turn <= 20; turn++) {
      await conversation.say({ question: `The word is w${turn}w.`, steps: turnSteps(turn) });
    }
    const before = await data.store.read("history");
    const sql = "SELECT turn, text FROM $history WHERE role = 'user' AND text LIKE '%w3w%'";
    const value = { path: "/0/text", value: "x" };
    const edits = [
      [{ op: "replace", ...value }],
      [{ find: "w3w", replace: "w4w" }],
      [{ where: "turn = 3", set: { text: "x" } }],
      "undo",
    ];
    const asked = await conversation.say({
      steps: [
        [toolCall("query_variables", { sql }, { id: "q" }), finish("tool-calls")],
        ...edits.map((edit, at): Step => {
          const input = { name: "$history", edits: edit };
          return [toolCall("edit_variable", input, { id: `e${at}` }), finish("tool-calls")];
        }),
        [text("$history_query_1[0].text"), finish("stop")],
      ],
    });
    const found = [{ turn: 3, text: "The word is w3w." }];
    expect(resultShown(asked, 1, "q")).toMatchObject({ value: found });
    for (const at of edits.keys()) {
      const shown = resultShown(asked, at + 2, `e${at}`);
      expect(shown).toContain("bad_name: $history is read-only");
    }
    expect(await data.store.read("history")).toEqual(before);
    expect(asked.result.message.parts.at(-1)).toMatchObject({ text: "The word is w3w." });
  });

  it("stays tainted while the outline repeats tainted text, and marks $history as untrusted", async () => {
    const { conversation, data } = talking({ policies: { look: { trusted: false } } });
    await conversation.say({ question: "Look.", steps: turnSteps(1) });
    const taints: boolean[] = [];
    const allOf = () => data.history.page({ limit: 1_000 }).messages;
    data.store.delete("look_1");
    for (let turn = 2; turn <= 60; turn++) {
      await conversation.say({ steps: [[text(`${turn} ${"x".repeat(300)}`), finish("stop")]] });
      taints.push(allOf().at(-1)?.tainted === true);
    }
    const { lines = [], turns } = data.history.compaction.compacted ?? {};
    expect(turns).toBeGreaterThan(50);
    expect(taints[0]).toBe(true);
    // The outline repeats answers that were written under taint, so each turn taints the next.
    expect(taints.every((isTainted) => isTainted)).toBe(true);
    expect(lines.every(({ isTainted }) => isTainted === true)).toBe(true);
    expect(data.store.info("history")?.trusted).toBe(false);
  });

  it("shows no sealed value in the outline or $history, whatever the model calls", async () => {
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

it.each([true, undefined])(
  "a summary of turns is as tainted as the turns: %s",
  async (isTainted) => {
    const { store, history } = talked(isTainted === true);
    expect(history.window().some(({ tainted }) => tainted === true)).toBe(false);
    const summarize = async () => "They looked at numbers.";
    await summarizeOutline(history, { summarize }, { isCurrent: () => true });
    const { lines = [] } = history.compaction.compacted ?? {};
    expect(lines).toMatchObject([{ isSummary: true }]);
    expect(lines[0]?.isTainted).toBe(isTainted);
    const chat = new Conversation({ agent: { ...agent, tools: {} }, store, history });
    const turn = await chat.say({ steps: [[text("Well."), finish("stop")]] });
    expect(outlineIn(turn)).toContain("summary: They looked at numbers.");
    expect(history.newest()?.tainted).toBe(isTainted);
  },
);
