import { readFileSync } from "node:fs";
import { tool } from "ai";
import type { Agent } from "byref";
import { expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "../../../packages/testing/src/testing.ts";

const orders = Array.from({ length: 60 }, (_, at) => ({ id: `ord_${at + 1}`, total: at }));
const sent: number[] = [];
const shop: Agent = {
  name: "shop",
  description: "Answers questions about orders.",
  instructions: "Look orders up before you speak of them.",
  tools: {
    list_orders: tool({
      inputSchema: z.object({ customer: z.string() }),
      execute: () => orders,
    }),
    email_orders: tool({
      inputSchema: z.object({ to: z.email(), orders: z.array(z.object({ id: z.string() })) }),
      execute: (input) => sent.push(input.orders.length),
    }),
  },
};

it("limits references to those that exist and fit, step by step", async () => {
  // --- strict references
  const guided: Agent = { ...shop, references: "strict" };
  // ---
  const model = scriptedModel([
    [toolCall("list_orders", { customer: "Ada" }), finish("tool-calls")],
    [
      toolCall("email_orders", { to: "a@example.com", orders: "$list_orders_ada[:10]" }),
      finish("tool-calls"),
    ],
    [text("Sent."), finish()],
  ]);
  await withRuntime({ agents: [guided], model }, async (own) => {
    const init = json({ message: "Go." }, { accept: "text/plain" });
    const response = await own.call("POST", "/conversations/c/messages", init);
    expect(await response.text()).toBe("Sent.");
  });
  expect(sent).toEqual([10]);
  const [first, second] = model.calls.map(({ tools = [] }) => {
    const shown = tools.find(({ name }) => name === "email_orders");
    const schema = shown?.type === "function" ? shown.inputSchema : {};
    return (schema.properties ?? {}) as Record<string, { anyOf?: readonly unknown[] }>;
  });
  expect(first?.["orders"]).toMatchObject({ type: "array" });
  expect(JSON.stringify(first)).not.toContain("reference");
  const [value, reference] = second?.["orders"]?.anyOf ?? [];
  expect(value).toMatchObject({ type: "array" });
  const guide = readFileSync("docs/guides/tools.md", "utf8");
  expect(guide).toContain(JSON.stringify(reference).replaceAll(/(?<=[,:])(?=["[])/gu, " "));
  // Texts are not distinguished: the id is offered, and the tool's own schema rejects it as an address.
  expect(second?.["to"]?.anyOf).toContainEqual({
    type: "string",
    description: "or a $reference",
    enum: ["$list_orders_ada[0].id"],
  });
});
