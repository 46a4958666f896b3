import { join } from "node:path";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { type Load, questionFor } from "../../bench/load.ts";
import { readResults } from "../../bench/results.ts";
import { scriptedModel, sentIn } from "../../bench/scripted-model.ts";
import { shop } from "../../bench/shop.ts";
import { codeTool } from "../../src/tool/code/code-tool.ts";
import type { PlatformServices } from "../../src/turn/toolbox.ts";
import { mixedRequests, newChars } from "../support/mixed-talk.ts";
import { slow } from "../support/slow.ts";
import { Conversation, shownText } from "../support/turn.ts";

const { rows } = readResults(join(import.meta.dirname, "../../bench/results.json"));

/** Returns the figure of the newest complete benchmark run, or undefined. */
function published(name: string): number | undefined {
  return rows.find((row) => row.name === name)?.value;
}

function sidesOf(name: string) {
  return rows.find((row) => row.name === name)?.sides ?? {};
}

/** Starts a conversation with the benchmarked agent. `sent` lists the requests to its model. */
function startTalk(services: PlatformServices = {}) {
  const conversation = new Conversation({ agent: shop, services });
  const sent: ReturnType<typeof sentIn>[] = [];
  const doStream = (options: LanguageModelV4CallOptions) => {
    sent.push(sentIn(options));
    return scriptedModel.doStream(options);
  };
  const model = { ...scriptedModel, doStream };
  const ask = (load: Load) => {
    return conversation.say({ steps: [], model, question: questionFor(load) });
  };
  return { conversation, sent, ask };
}

describe("a published figure matches the code:", () => {
  it("the prompt after a large result, call by call", async () => {
    const { sent, ask } = startTalk();
    const load: Load = { deltas: 20, gapMs: 0, tool: "fetch_report" };
    await ask({ ...load, calls: 1, word: "fetch" });
    for (let index = 0; index < 6; index++) await ask({ ...load, word: `follow-${index}` });
    const messages = sent.reduce((sum, prompt) => sum + prompt.messages.length, 0);
    const tools = sent.reduce((sum, prompt) => sum + prompt.tools.length, 0);
    const name = "prompt after a large result";
    expect({ calls: sent.length, messages, all: messages + tools }).toEqual({
      calls: published(`${name}: model calls`),
      messages: published(`${name}: characters of messages`),
      all: published(`${name}: characters of messages and tools`),
    });
  });

  it("the prompts of two short turns", async () => {
    const { sent, ask } = startTalk();
    for (const word of ["one", "two"])
      await ask({ deltas: 2, gapMs: 0, tool: "check", calls: 1, word });
    const messages = sent.reduce((sum, prompt) => sum + prompt.messages.length, 0);
    const tools = sent.reduce((sum, prompt) => sum + prompt.tools.length, 0);
    const name = "two short turns with small results: characters of messages";
    expect([messages, messages + tools]).toEqual([published(name), published(`${name} and tools`)]);
  });

  it("the prompt of a first question, with and without run_code", async () => {
    const run = () => Promise.reject(new Error("It is only offered."));
    const code: PlatformServices["code"] = (options) => codeTool({ ...options, sandbox: { run } });
    const charsWith = async (services: PlatformServices) => {
      const { sent, ask } = startTalk(services);
      await ask({ deltas: 20, gapMs: 0, tool: "fetch_report", calls: 1, word: "fetch" });
      const { messages = "", tools = "" } = sent[0] ?? {};
      return messages.length + tools.length;
    };
    const name = "prompt of a first question";
    const { ours, kept } = sidesOf(`${name}, tools too`);
    expect(await charsWith({})).toBe(ours?.median);
    const against = (await charsWith({ code })) / (kept?.median ?? Number.NaN);
    expect(against).toBe(published(`${name}, run_code too: against kept`));
  });

  it("what each request of 50 turns adds to the one before", slow, async () => {
    const requests = await mixedRequests(50);
    const chars = requests.reduce((sum, request) => sum + request.length, 0);
    const name = "50 turns of mixed work: what the request before does not begin with";
    expect(newChars(requests) / chars).toBe(published(name));
  });

  it("what the model writes to answer with a stored report", slow, async () => {
    const { conversation, ask } = startTalk();
    const report = "All of it is as it was. ".repeat(40_000);
    await conversation.store.save({ name: "report", value: report });
    const { chunks } = await ask({ deltas: 1, gapMs: 0, say: "$report" });
    expect(shownText(chunks)).toBe(report);
    expect("$report").toHaveLength(published("answer from data") ?? 0);
  });
});
