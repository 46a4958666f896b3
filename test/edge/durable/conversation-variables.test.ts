import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { convertToModelMessages, isStepCount, readUIMessageStream, streamText, tool } from "ai";
import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import {
  type ConversationVariables,
  conversationVariables,
  type ConversationVariablesOptions,
} from "../../../packages/adapters/src/durable.ts";
import { scriptedModel } from "../../../packages/testing/src/testing.ts";

const orders = Array.from({ length: 500 }, (_, index) => ({ id: `ord_${index}`, total: index }));
const taken: unknown[] = [];
const tools = {
  list_orders: tool({ inputSchema: z.object({}), execute: () => orders }),
  ship: tool({
    inputSchema: z.object({ ids: z.array(z.string()) }),
    execute: ({ ids }) => {
      taken.push(ids.length);
      return "shipped";
    },
  }),
};

/** Runs `work` in a new object, with its variables. */
async function inObject(
  work: (variables: ConversationVariables, state: DurableObjectState) => Promise<void>,
  options: ConversationVariablesOptions = {},
): Promise<void> {
  const stub = env.CONVERSATIONS.get(env.CONVERSATIONS.newUniqueId());
  await runInDurableObject(stub, (_, state) => work(conversationVariables(state, options), state));
}

/** From then on only the test moves the clock. The platform's alarms keep their own time. */
function stopTheClock(): void {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
}

function tablesOf({ storage }: DurableObjectState): string[] {
  const rows = storage.sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
  return rows.map(({ name }) => String(name)).filter((name) => !name.startsWith("_cf"));
}

/** Returns the message that a stock client builds from a response. */
async function messageOf(response: Response): Promise<UIMessage> {
  const text = await response.text();
  const chunks = text
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice("data: ".length)) as UIMessageChunk);
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  let last: UIMessage | undefined;
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  for await (const message of readUIMessageStream({ stream })) {
    last = message;
  }
  if (last === undefined) throw new Error("There was no message.");
  return last;
}

const textOf = ({ parts }: UIMessage) =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("");

const ask = (text: string): UIMessage => ({
  id: crypto.randomUUID(),
  role: "user",
  parts: [{ type: "text", text }],
});

interface Turn extends Pick<ConversationVariables, "prepareStep"> {
  expand(response: Response): Response;
}

describe("conversationVariables", () => {
  it("create their tables, all with a prefix, at the first use and not before", () =>
    inObject(async (variables, state) => {
      const before = tablesOf(state);
      expect(before.filter((name) => name.startsWith("byref_"))).toEqual([]);
      await variables.store.save({ name: "a", value: 1 });
      const added = tablesOf(state).filter((name) => !before.includes(name));
      expect(added).toContain("byref_variable");
      expect(added.every((name) => name.startsWith("byref_"))).toBe(true);
      expect(await state.storage.getAlarm()).toBeNull();
      // A restarted object.
      expect(await conversationVariables(state).store.read("a")).toBe(1);
    }));

  it("give an agent of the SDK references in inputs, values in its answer, and references in its history", () =>
    inObject(async (variables) => {
      const model = scriptedModel([
        [{ tool: "list_orders", input: {} }],
        [{ tool: "ship", input: { ids: "$list_orders_1[*].id" } }],
        "The last is $list_orders_1[499].id.",
        "It was $list_orders_1[0].id.",
      ]);
      const answer = async (messages: UIMessage[]) => {
        const result = streamText({
          model,
          tools: { ...variables.wrap(tools), ...variables.tools() },
          messages: await convertToModelMessages(messages),
          prepareStep: variables.prepareStep,
          stopWhen: isStepCount(5),
        });
        return messageOf(variables.expand(result.toUIMessageStreamResponse()));
      };
      const first = [ask("Ship all orders.")];
      const shown = await answer(first);
      expect(textOf(shown)).toBe("The last is ord_499.");
      expect(taken).toEqual([500]);
      expect(textOf(await answer([...first, shown, ask("Which was first?")]))).toBe(
        "It was ord_0.",
      );
      const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
      expect(prompt).toContain("The last is $list_orders_1[499].id.");
      expect(prompt).not.toContain("ord_250");
      expect(prompt.length).toBeLessThan(6_000);
    }));

  it("show no model a sealed value, also if the framework's history has only what was shown", () =>
    inObject(async (variables, state) => {
      await variables.store.save({ name: "code", value: "1815-12-10", visibility: "sealed" });
      const model = scriptedModel(["Your code is $code, Ada.", "Again: $code."]);
      const answer = async (messages: UIMessage[], { prepareStep, expand }: Turn) => {
        const result = streamText({
          model,
          messages: await convertToModelMessages(messages),
          prepareStep,
        });
        return messageOf(expand(result.toUIMessageStreamResponse()));
      };
      const turn = (of: ConversationVariables): Turn => ({
        prepareStep: of.prepareStep,
        expand: (response) => of.expand(response),
      });
      const shown = textOf(await answer([ask("My code?")], turn(variables)));
      expect(shown).toBe("Your code is 1815-12-10, Ada.");
      const said = (text: string): UIMessage => ({
        id: crypto.randomUUID(),
        role: "assistant",
        parts: [{ type: "text", text }],
      });
      // A restarted object. One answer in the history is complete, the other was cut off.
      const next = turn(conversationVariables(state));
      await answer([ask("My code?"), said(shown), said(shown.slice(0, 19)), ask("Again?")], next);
      const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
      expect(prompt).not.toContain("1815");
      expect(prompt).toContain("Your code is $code, Ada.");
    }));

  it("leave the alarm to the object, and say when and what to sweep", () =>
    inObject(
      async (variables, state) => {
        stopTheClock();
        await variables.store.save({ name: "a", value: 1 });
        const dueMs = variables.nextAlarm() ?? 0;
        expect(dueMs).toBeGreaterThan(Date.now() - 1_000);
        expect(dueMs).toBeLessThan(Date.now() + 60_000);
        expect(await state.storage.getAlarm()).toBeNull();
        vi.setSystemTime(Date.now() + 40);
        await variables.sweep();
        expect(variables.store.info("a")).toBeUndefined();
        expect(variables.nextAlarm()).toBeUndefined();
      },
      { idleMs: 20 },
    ));

  it("set the object's alarm themselves if they own it, and never put it off", () =>
    inObject(
      async (variables, { storage }) => {
        await variables.store.save({ name: "a", value: 1, ttlMs: 90_000 });
        await expect.poll(() => storage.getAlarm()).not.toBeNull();
        const armedMs = (await storage.getAlarm()) ?? 0;
        expect(armedMs).toBeLessThanOrEqual(Date.now() + 90_000);
        await variables.store.save({ name: "b", value: 1, ttlMs: 900_000 });
        await variables.sweep();
        expect(await storage.getAlarm()).toBe(armedMs);
        await storage.deleteAlarm();
      },
      { alarm: "own" },
    ));

  it("are evicted by the object's handler if they own the alarm", async () => {
    const stub = env.CONVERSATIONS.get(env.CONVERSATIONS.newUniqueId());
    const options = { alarm: "own", idleMs: 3_600_000 } as const;
    stopTheClock();
    await runInDurableObject(stub, async (instance, state) => {
      const variables = conversationVariables(state, options);
      Object.assign(instance, { alarm: () => variables.sweep() });
      await variables.store.save({ name: "a", value: 1, ttlMs: 3_600_000 });
      await expect.poll(() => state.storage.getAlarm()).not.toBeNull();
    });
    vi.setSystemTime(Date.now() + 7_200_000);
    await runDurableObjectAlarm(stub);
    await runInDurableObject(stub, async (_, state) => {
      expect(conversationVariables(state, options).store.list()).toEqual([]);
      expect(await state.storage.getAlarm()).toBeNull();
    });
  });
});
