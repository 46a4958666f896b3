import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import type { History } from "../../src/turn/history/history.ts";
import { summarizeOutline } from "../../src/turn/history/summarize.ts";
import { BUDGET, dataIn, messagesOf, optionsFor } from "../support/compacted.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, promptOf, resultShown, type Turn } from "../support/turn.ts";

const asked = finish("tool-calls");
const long: Step = [text("x".repeat(500)), finish("stop")];
const agent = { name: "t", description: "", instructions: "Help.", historyChars: BUDGET };

function outlineIn(turn: Turn, call = 0): string {
  return JSON.stringify(promptOf(turn, call).find(({ role }) => role === "user"));
}

const done: string[] = [];
const send = tool({
  inputSchema: z.object({ note: z.string() }),
  execute: ({ note }) => {
    done.push(note);
    return { sent: note.length };
  },
});

it("a turn that waits for a person in a compacted conversation continues with its calls, their results and the outline, and is compacted later", async () => {
  const { store, history } = dataIn();
  const policies = { send: { approval: true as const } };
  const chat = new Conversation({
    agent: { ...agent, tools: { send }, policies },
    store,
    history,
  });
  for (let turn = 1; turn <= 12; turn++) {
    await chat.say({ question: `Question ${turn}?`, steps: [long] });
  }
  const compacted = history.compaction.compacted;
  expect(compacted?.turns).toBeGreaterThan(3);
  // The call alone exceeds the budget.
  const note = `To send: ${"n".repeat(2 * BUDGET)}`;
  const waiting = await chat.say({
    question: "Send it.",
    steps: [[toolCall("send", { note }, { id: "s" }), asked]],
  });
  expect([done, waiting.result.message.parts.at(-1)]).toMatchObject([
    [],
    { state: "approval-requested" },
  ]);
  const before = history.compaction.compacted;
  const resumed = await chat.approve({ steps: [[text("It is sent."), finish("stop")]] });
  expect(done).toEqual([note]);
  expect(resultShown(resumed, 0, "s")).toMatchObject({ value: { sent: note.length } });
  expect(JSON.stringify(promptOf(resumed, 0))).toContain(note);
  expect(outlineIn(resumed)).toBe(outlineIn(waiting));
  expect(history.compaction.compacted).toBe(before);

  const later: Turn[] = [];
  for (let turn = 1; turn <= 4; turn++) later.push(await chat.say({ steps: [long] }));
  const [next, , , last] = later;
  if (next === undefined || last === undefined) throw new Error("There are four.");
  expect(JSON.stringify(promptOf(next, 0))).toContain(note);
  expect(resultShown(next, 0, "s")).toMatchObject({ value: { sent: note.length } });
  expect(JSON.stringify(promptOf(last, 0))).not.toContain(note);
  expect(outlineIn(last)).toContain("calls: send (");
});

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
