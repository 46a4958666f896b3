import { runInDurableObject } from "cloudflare:test";
import { DurableObject, env } from "cloudflare:workers";
import {
  convertToModelMessages,
  isStepCount,
  streamText,
  tool,
  type LanguageModel,
  type UIMessage,
} from "ai";
import { type ConversationVariables, conversationVariables } from "byref/durable";
import { expect, it } from "vitest";
import * as z from "zod";
import { scriptedModel } from "byref/testing";

const orders = Array.from({ length: 2_000 }, (_, index) => ({
  id: `ord_${index}`,
  customer: `Customer ${index % 50}, ${"x".repeat(40)}`,
  total: index,
}));
const shipped: number[] = [];
const tools = {
  list_orders: tool({ inputSchema: z.object({}), execute: () => orders }),
  ship: tool({
    inputSchema: z.object({ ids: z.array(z.string()) }),
    execute: ({ ids }) => {
      shipped.push(ids.length);
      return ids.length;
    },
  }),
};
const question: UIMessage = {
  id: "1",
  role: "user",
  parts: [{ type: "text", text: "Ship all orders." }],
};

class Chat extends DurableObject<{ readonly BLOBS: R2Bucket }> {
  // --- members of the class
  variables = conversationVariables(this.ctx, { bucket: this.env.BLOBS, alarm: "own" });

  override alarm(): Promise<void> {
    return this.variables.sweep();
  }
  // ---

  // --- a method of the class
  importVariables(file: ReadableStream<Uint8Array>) {
    return this.variables.import(file);
  }
  // ---
}

async function byValue(model: LanguageModel, messages: UIMessage[]): Promise<Response> {
  // --- before
  const result = streamText({
    model,
    tools,
    messages: await convertToModelMessages(messages),
    stopWhen: isStepCount(5),
  });
  return result.toUIMessageStreamResponse();
  // ---
}

async function byReference(
  model: LanguageModel,
  messages: UIMessage[],
  variables: ConversationVariables,
): Promise<Response> {
  // --- a turn
  const result = streamText({
    model,
    tools: { ...variables.wrap(tools), ...variables.tools({ only: ["read_variable"] }) },
    messages: await convertToModelMessages(messages),
    prepareStep: variables.prepareStep,
    stopWhen: isStepCount(5),
  });
  return variables.expand(result.toUIMessageStreamResponse());
  // ---
}

const promptChars = (model: ReturnType<typeof scriptedModel>) =>
  model.calls.reduce((sum, { prompt }) => sum + JSON.stringify(prompt).length, 0);

it("adds variables to any Durable Object: the prompt has at most 3 % of the characters", async () => {
  const ids = orders.map(({ id }) => id);
  const copying = scriptedModel([
    [{ tool: "list_orders", input: {} }],
    [{ tool: "ship", input: { ids } }],
    "Shipped 2000.",
  ]);
  const referring = scriptedModel([
    [{ tool: "list_orders", input: {} }],
    [{ tool: "ship", input: { ids: "$list_orders_1[*].id" } }],
    "Shipped $ship_1.",
  ]);
  await (await byValue(copying, [question])).text();
  const stub = env.CONVERSATIONS.get(env.CONVERSATIONS.newUniqueId());
  await runInDurableObject(stub, async (_, state) => {
    const { variables } = new Chat(state, env);
    const answer = await (await byReference(referring, [question], variables)).text();
    expect(answer).toContain('"delta":"2000"');
  });
  expect(shipped).toEqual([2_000, 2_000]);
  const share = promptChars(referring) / promptChars(copying);
  expect(share).toBeLessThan(0.03);
});

it("copies variables into another object", async () => {
  const objects = env.CONVERSATIONS;
  const file = await runInDurableObject(objects.get(objects.newUniqueId()), async (_, state) => {
    const { variables } = new Chat(state, env);
    await variables.store.save({ name: "orders", value: orders });
    const files: string[] = [];
    const other = {
      importVariables: async (file: ReadableStream<Uint8Array>) => {
        files.push(await new Response(file).text());
      },
    };
    // --- a copy
    await variables.fork((file) => other.importVariables(file));
    // ---
    return files.join("");
  });
  await runInDurableObject(objects.get(objects.newUniqueId()), async (_, state) => {
    const copy = new Chat(state, env);
    await copy.importVariables(new Blob([file]).stream());
    expect(await copy.variables.store.read("orders")).toEqual(orders);
  });
});
