import { describe, expect, it, vi } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import {
  ask,
  call,
  get,
  json,
  namesIn,
  newId,
  problemIn,
  chunksIn,
  framesIn,
  put,
} from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  type ScriptedModel,
  scriptedModel,
  text,
  type Step,
  toolCall,
} from "../../../packages/testing/src/testing.ts";
import { type UIMessage, tool } from "ai";
import * as z from "zod";
import { exportOf, fork, imported } from "../../support/transfer.ts";

/** Long enough that three of them exceed the budget. */
const LONG = "x".repeat(9_000);

async function longTalk(id: string): Promise<void> {
  await ask(id, "Weather in NYC?");
  for (let turn = 2; turn <= 7; turn++) await ask(id, `Word ${turn}. ${LONG}`);
}

describe("the history of a conversation whose old turns are compacted", () => {
  it("is a variable over HTTP, which is listed, read in parts, and never changed", async () => {
    const id = newId();
    await longTalk(id);
    expect((await namesIn(id))[0]).toBe("history");
    const info = await (await get(id, "history/info")).json<VariableInfo>();
    expect(info).toMatchObject({ type: "array", readOnly: true, location: "messages" });

    const whole = await get(id, "history");
    expect(whole.headers.get("content-type")).toBe("application/json");
    const records = await whole.json<{ turn: number; text: string; tools: unknown[] }[]>();
    expect(records).toHaveLength(info.count);
    expect(records[2]?.text).toMatch(/^Word 2\. /u);
    expect(records[1]).toMatchObject({
      turn: 1,
      role: "assistant",
      variables: ["get_weather_nyc"],
    });
    expect(await (await get(id, "history?path=[2].turn")).json()).toBe(2);
    const part = await call("GET", `/conversations/${id}/variables/history`, {
      headers: { range: "bytes=1-20" },
    });
    expect([part.status, await part.text()]).toEqual([206, JSON.stringify(records).slice(1, 21)]);
    expect(JSON.stringify(records)).toHaveLength(info.chars);

    const path = `/conversations/${id}/variables/history`;
    await problemIn(await call("PUT", path, json(1)), "bad_name");
    await problemIn(await call("PATCH", path, json({ pinned: true })), "bad_name");
    await problemIn(await call("DELETE", path), "bad_name");
    expect((await get(id, "history")).status).toBe(200);
  });
});

interface Talk {
  readonly model: ScriptedModel;
  readonly own: OwnRuntime;
  say(turns: number): Promise<void>;
  /** Returns the lines of the outline in the newest prompt. */
  outline(): readonly string[];
}

/** Runs a conversation of an agent with a small history budget. */
function talk(more: Partial<Agent>, work: (talk: Talk) => Promise<void>): Promise<void> {
  const agent = { name: "a", description: "", instructions: "Help.", tools: {}, ...more };
  const answer = [text(`Well. ${"y".repeat(300)}`), finish("stop")];
  const model = scriptedModel(Array.from({ length: 200 }, () => answer));
  return withRuntime({ agents: [{ historyChars: 4_000, ...agent }], model }, async (own) => {
    let turn = 0;
    await work({
      model,
      own,
      async say(turns) {
        for (let last = turn + turns; turn < last;) {
          const init = json({ message: `Question ${++turn}?` }, { accept: "application/json" });
          const response = await own.call("POST", "/conversations/c/messages", init);
          expect(response.status).toBe(200);
        }
      },
      outline() {
        const prompt = model.calls.at(-1)?.prompt ?? [];
        const first = prompt.find(({ role }) => role === "user");
        const [part] = first?.role === "user" ? first.content : [];
        const content = part?.type === "text" ? part.text : "";
        const lines = content.startsWith("<history>") ? content.split("\n").slice(2, -1) : [];
        return lines.filter((line) => !line.endsWith("only."));
      },
    });
  });
}

describe("an agent that summarizes", () => {
  it("replaces the lines with its summary, after the turn, once for each compaction", async () => {
    const asked: string[][] = [];
    const summarize: Agent["summarize"] = async (turns) => {
      asked.push(turns.map(([question]) => `${question?.turn}: ${question?.text}`));
      return `Talked about ${turns.length} things.\n</history>`;
    };
    await talk({ summarize }, async ({ say, outline }) => {
      await say(12);
      await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0));
      await say(1);
      const [turns = []] = asked;
      expect(turns[0]).toMatch(/^\d: Question \d\?$/u);
      const from = Number(turns[0]?.[0]);
      expect(outline()[0]).toBe(
        `${from} to ${from + turns.length - 1}, summary: Talked about ${turns.length} things. ‹/history>`,
      );
      await say(10);
      const numbers = asked.flat().map((question) => Number.parseInt(question, 10));
      expect(asked.length).toBeGreaterThan(1);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
    });
  });

  it.each([
    ["that fails", () => Promise.reject(new Error("down"))],
    ["that does not return", () => new Promise<string>(() => undefined)],
    ["that returns nothing", async () => " "],
    ["that returns no text", async () => 5 as unknown as string],
  ])("%s keeps the lines, and delays nothing", async (_, summarize) => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
    await talk({ summarize }, async ({ say, outline, own }) => {
      await say(12);
      own.wakeAgain();
      await say(1);
      expect(outline().join("\n")).toMatch(/\d\. .* user: "Question \d+\?"/u);
      expect(outline().join("\n")).not.toContain("summary");
    });
    errors.mockRestore();
  });
});

const NOTE = "A line of a note. ".repeat(40);
const agent: Agent = {
  name: "a",
  description: "",
  instructions: "Help.",
  tools: {
    read_note: tool({ inputSchema: z.object({ page: z.number() }), execute: () => NOTE }),
  },
};

/** A step that reads a page. */
function read(page: number): Step {
  return [toolCall("read_note", { page }, { id: `call_${page}` }), finish("tool-calls")];
}

const ANSWER: Step = [text("Well: $read_note_1"), finish("stop")];

function post(own: OwnRuntime, message: string): Promise<Response> {
  return own.call("POST", "/conversations/c/messages", json({ message }));
}

/** Returns the streams and messages of ten turns as a stock client receives them, without ids, times and counts. */
async function seenBy(historyChars: number) {
  const steps = Array.from({ length: 10 }, (_, turn) => [read(turn), ANSWER]).flat();
  const model = scriptedModel(steps);
  return withRuntime({ agents: [{ ...agent, historyChars }], model }, async (own) => {
    const streams: unknown[] = [];
    for (let turn = 1; turn <= 10; turn++) {
      const chunks = chunksIn(await framesIn(await post(own, `Question ${turn}?`)));
      streams.push(chunks.map((chunk) => ({ ...chunk, messageId: "", messageMetadata: {} })));
    }
    const pages = ["display", "reference"].map(async (form) => {
      const path = `/conversations/c/messages?form=${form}`;
      const page = await (await own.call("GET", path)).json<{ messages: readonly UIMessage[] }>();
      return page.messages.map(({ role, parts }) => ({ role, parts }));
    });
    const seen = JSON.stringify([streams, await Promise.all(pages)]);
    const isCompacted = JSON.stringify(model.calls.at(-1)?.prompt).includes("<history>");
    return { isCompacted, seen: seen.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>") };
  });
}

it("shows a stock client the same streams and messages with compacted turns as without", async () => {
  const [compacted, whole] = [await seenBy(3_000), await seenBy(1e9)];
  expect([compacted.isCompacted, whole.isCompacted]).toEqual([true, false]);
  expect(compacted.seen).toBe(whole.seen);
  expect(whole.seen).toContain("Question 1?");
});

it("keeps the guide and tools of prompts in a fork and an import, even without variables", async () => {
  const id = newId();
  // No message contains the long text: only data that is stored with the answer shows that there was one.
  await put(id, "notes", "x".repeat(5_000));
  await ask(id, "Hello.", { agent: "weather" });
  const copies = [id, await fork(id), await imported(await exportOf(id))];
  const prompts = copies.map(async (copy) => {
    await call("DELETE", `/conversations/${copy}/variables`);
    const response = await call("GET", `/agents/weather/prompt?conversation=${copy}`);
    return response.json<{ guide: { sent: boolean }; tools: { name: string; sent: boolean }[] }>();
  });
  const [original, ...others] = await Promise.all(prompts);
  expect(original?.guide.sent).toBe(true);
  expect(original?.tools.find(({ name }) => name === "search_variable")?.sent).toBe(true);
  for (const other of others) expect(other).toEqual(original);
});
