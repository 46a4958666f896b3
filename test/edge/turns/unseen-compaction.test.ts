import type { UIMessage } from "ai";
import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { ask, call, chunksIn, framesIn, json, newId, put } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";
import { exportOf, fork, imported } from "../../support/transfer.ts";

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
