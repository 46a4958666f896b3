import { generateText, tool } from "ai";
import { type Agent, createRuntime } from "byref";
import { expect, it } from "vitest";
import * as z from "zod";
import { clientOf, failureOf } from "../../support/client.ts";
import { json, newId, problemIn } from "../../support/edge.ts";
import { type OwnRuntime, withWorker } from "../../support/own-runtime.ts";
import {
  finish,
  type Part,
  type ScriptedModel,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "byref/testing";

const rows = Array.from({ length: 500 }, (_, id) => ({ id, note: "x".repeat(20) }));
const shop: Agent = {
  name: "shop",
  description: "",
  instructions: "Help.",
  tools: {
    list_rows: tool({ inputSchema: z.object({}), execute: () => rows }),
    act: tool({ inputSchema: z.object({}), execute: () => 1 }),
  },
};
const tokens = { input: 60, output: 40 };

it("reports what a turn cost, and what it would have cost by value", async () => {
  const steps: readonly Step[] = [
    [toolCall("list_rows", {}), finish("tool-calls", tokens)],
    [text("All: $list_rows_1[0].note"), finish("stop", tokens)],
  ];
  const model = scriptedModel(steps);
  await withWorker(createRuntime({ agents: [shop], model }), async (own) => {
    const chat = clientOf(own as OwnRuntime).conversation("c");
    // --- what a turn took
    const { usage, savings, cost } = await chat.send("Which rows are there?").json();
    const share = savings.promptChars / savings.inlinePromptChars;
    // ---
    expect(usage).toEqual({ inputTokens: 120, outputTokens: 80, totalTokens: 200 });
    expect(share).toBeLessThan(0.15);
    expect(savings).toMatchObject({
      authoredChars: "$list_rows_1[0].note".length,
      resolvedChars: 20,
    });
    expect(cost.rowsWritten).toBeGreaterThan(cost.alarms);
    expect(cost.rowsRead).toBeGreaterThan(0);
  });
});

it("shows what is sent to a model now and later", async () => {
  const steps: readonly Step[] = [
    [toolCall("list_rows", {}), finish("tool-calls")],
    [text("Many."), finish("stop")],
  ];
  const model = scriptedModel(steps);
  await withWorker(createRuntime({ agents: [shop], model }), async (own) => {
    const client = clientOf(own as OwnRuntime);
    const first = await client.prompt("shop");
    await client.conversation("c").send("Which rows are there?").text();
    // --- what a model is sent
    const { instructions, tools, guide, sentChars, laterChars } = await client.prompt("shop");
    const sizes = tools.map(({ name, chars, sent }) => `${name}: ${chars}${sent ? "" : ", later"}`);
    const now = await client.prompt("shop", { conversation: "c" });
    // ---
    expect(instructions.text).toMatch(/^Help\.\n\nWrite results as/u);
    expect(sizes[0]).toBe(`list_rows: ${JSON.stringify(model.calls[0]?.tools?.[0]).length}`);
    expect(sentChars).toBeGreaterThan(instructions.chars);
    expect(first.laterChars).toBeGreaterThan(laterChars);
    expect(now.tail?.text).toContain(guide?.text);
    expect(now.sentChars).toBeGreaterThan(first.sentChars);
  });
});

const nameFor = (tenant: string) => ({ name: JSON.stringify([tenant, newId()]) });

it("ends a turn at its spending limits", async () => {
  const act: Step = () => [toolCall("act", {}), finish("tool-calls", tokens)];
  const model = scriptedModel(Array.from({ length: 20 }, () => act));
  // --- limits of spending
  const runtime = createRuntime({
    agents: [shop],
    model,
    spend: {
      turn: { modelCalls: 10, toolCalls: 20 },
      conversation: { tokens: 1_000_000 },
      tenant: { modelCalls: 15, per: "day" }, // of all of its conversations; needs DIRECTORY
    },
  });
  // ---
  const tenant = `tenant ${newId()}`;
  const ask = () =>
    withWorker(
      runtime,
      async (own) => {
        const init = json({ message: "Go." }, { accept: "application/json" });
        const response = await own.call("POST", "/conversations/c/messages", init);
        const chat = clientOf(own as OwnRuntime).conversation("d");
        expect(await failureOf(chat.send("Go.").text())).toMatchObject({
          code: "spend_exceeded",
          details: { limit: "tenant.modelCalls", maximum: 15, actual: 16 },
        });
        return problemIn(response, "spend_exceeded");
      },
      nameFor(tenant),
    );
  expect(await ask()).toMatchObject({
    detail: expect.stringContaining("This turn may spend 10"),
    limit: "turn.modelCalls",
    maximum: 10,
    actual: 11,
  });
  expect(model.calls).toHaveLength(15);
  expect(await ask()).toMatchObject({
    detail: expect.stringContaining("This tenant may spend 15 calls of the model a day"),
    limit: "tenant.modelCalls",
    maximum: 15,
    actual: 16,
  });
  expect(model.calls).toHaveLength(15);
});

// --- an agent's budget
const historian: Agent = {
  name: "historian",
  description: "Remembers.",
  instructions: "Help.",
  tools: {},
  historyChars: 8_000, // default: 24,000
};
// ---

/** A model that answers every prompt with "Old.", without streaming. */
function sayingOld(): ScriptedModel {
  const [{ usage, finishReason }] = finish("stop") as [Extract<Part, { type: "finish" }>];
  const content = [{ type: "text" as const, text: "Old." }];
  const doGenerate = async () => ({ content, usage, finishReason, warnings: [] });
  return { ...scriptedModel([]), doGenerate };
}

it("replaces old turns with an outline, and keeps them in $history", async () => {
  const answer: Step = [text(`Well. ${"x".repeat(900)}`), finish("stop")];
  const model = scriptedModel(Array.from({ length: 20 }, () => answer));
  const small = sayingOld();
  // --- a summary in place of lines
  const summarizing: Agent = {
    ...historian,
    name: "summarizing",
    summarize: async (turns, { signal }) => {
      const { text } = await generateText({
        model: small,
        prompt: `Summarize in three sentences: ${JSON.stringify(turns)}`,
        abortSignal: signal,
      });
      return text;
    },
  };
  // ---
  await withWorker(createRuntime({ agents: [historian, summarizing], model }), async (own) => {
    const chat = clientOf(own as OwnRuntime).conversation("c");
    for (let turn = 1; turn <= 12; turn++) await chat.send(`Question ${turn}?`).text();
    // --- the history as a variable
    const { variables } = await chat.variables.list();
    const early = await chat.variables.get("history", { path: "[0:2][*].text" });
    // ---
    expect(variables[0]).toMatchObject({ name: "history", readOnly: true });
    expect(early).toEqual(["Question 1?", `Well. ${"x".repeat(900)}`]);
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
    expect(prompt).toContain(
      "All of it is in $history, records {turn, at, role, text, tools, variables}",
    );
    expect(prompt.length).toBeLessThan(8_000);

    const agent = "summarizing";
    for (let turn = 1; turn <= 8; turn++) await chat.send(`More ${turn}?`, { agent }).text();
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain("summary: Old.");
  });
});
