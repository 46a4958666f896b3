import { tool } from "ai";
import { type Agent, planSupport } from "byref";
import { callsOf, scriptedModel, startRuntime } from "byref/testing";
import { beforeEach, expect, it, vi } from "vitest";
import * as z from "zod";

type Order = { readonly id: string; readonly total: number };

const orders: readonly Order[] = Array.from({ length: 60 }, (_, at) => ({
  id: `ord_${at + 1}`,
  total: at,
}));
const sent: { to: string; orders: readonly Order[] }[] = [];
const charges: unknown[] = [];

const list_orders = tool({
  description: "All orders of a customer.",
  inputSchema: z.object({ customer: z.string() }),
  execute: () => orders,
});

const email_orders = tool({
  description: "Sends orders to an address.",
  inputSchema: z.object({
    to: z.email(),
    orders: z.array(z.object({ id: z.string(), total: z.number() })),
  }),
  execute: (mail) => {
    sent.push(mail);
    return { sent: mail.orders.length };
  },
});

const charge_card = tool({
  description: "Charges the customer's card.",
  inputSchema: z.object({ cents: z.number().int() }),
  execute: ({ cents }) => {
    charges.push(cents);
    return { cents };
  },
});

const shop: Agent = {
  name: "shop",
  description: "Answers questions about orders.",
  instructions: "Look orders up before you speak of them.",
  tools: { list_orders, email_orders, charge_card },
};

beforeEach(() => {
  sent.length = 0;
  charges.length = 0;
});

// --- the first test
it("answers with the customer's first order", async () => {
  const model = scriptedModel([
    { tool: "list_orders", input: { customer: "Ada" } },
    "The first is $list_orders_ada[0].id.",
  ]);
  await using runtime = await startRuntime({ agents: [shop], model });
  const conversation = runtime.client.conversation("orders");
  expect(await conversation.send("What did Ada order?").text()).toBe("The first is ord_1.");
});
// ---

it("tests a tool", async () => {
  // --- a tool
  const model = scriptedModel([
    { tool: "list_orders", input: { customer: "Ada" } },
    { tool: "email_orders", input: { to: "ada@example.com", orders: "$list_orders_ada[0:2]" } },
    "Sent.",
  ]);
  await using runtime = await startRuntime({ agents: [shop], model });
  const conversation = runtime.client.conversation("mail");
  await conversation.send("Send Ada her first two orders.").text();
  expect(sent).toEqual([{ to: "ada@example.com", orders: orders.slice(0, 2) }]);
  const { variables } = await conversation.variables.list();
  expect(variables.map(({ name }) => name)).toContain("list_orders_ada");
  // ---
});

it("tests what a model reads about a refused call", async () => {
  // --- a refused call
  const model = scriptedModel([
    { tool: "email_orders", input: { to: "ada", orders: [] } },
    "I need an address.",
  ]);
  await using runtime = await startRuntime({ agents: [shop], model });
  await runtime.client.conversation("mail").send("Mail Ada.").text();
  expect(sent).toEqual([]);
  const result = callsOf(model)[1]?.messages.find(({ role }) => role === "tool");
  expect(result?.text).toContain("invalid_tool_input");
  // ---
});

it("tests an agent", async () => {
  const model = scriptedModel([
    { tool: "list_orders", input: { customer: "Ada" } },
    "There are 60.",
  ]);
  await using runtime = await startRuntime({ agents: [shop], model });
  await runtime.client.conversation("orders").send("How many did Ada order?").text();
  // --- an agent
  const [first, second] = callsOf(model);
  expect(first?.tools).toContain("email_orders");
  expect(first?.instructions).toContain("Look orders up before you speak of them.");
  expect(first?.messages[0]).toMatchObject({ role: "user", text: "How many did Ada order?" });
  const [, call, result] = second?.messages ?? [];
  expect(call?.text).toBe('list_orders({"customer":"Ada"})');
  expect(result?.text).toContain('"$var":"list_orders_ada"');
  expect(result?.text).not.toContain("ord_60");
  expect(second?.sentChars).toBeLessThan(5_000);
  // ---
});

it("tests a plan", async () => {
  // --- a plan
  const options = { agents: [shop] as const, model: scriptedModel([]), plans: planSupport() };
  await using runtime = await startRuntime(options);
  const { plans } = runtime.client.conversation("plan");
  const plan = await plans.propose({
    calls: [
      { _tool: "list_orders", _outputPath: "†state.orders", customer: "Ada" },
      { _tool: "email_orders", to: "ada@example.com", orders: "†state.orders" },
    ],
  });
  await plans.approve(plan.id);
  const run = await plans.run(plan.id).json();
  expect(run.status).toBe("done");
  expect(sent).toEqual([{ to: "ada@example.com", orders }]);
  // ---
});

it("tests a crash", async () => {
  // --- a crash
  const silent = () => new Promise<never>(() => {});
  const model = scriptedModel([
    { tool: "charge_card", input: { cents: 500 } },
    silent,
    "Charged $charge_card_1.cents cents.",
  ]);
  await using runtime = await startRuntime({ agents: [shop], model });
  const answer = runtime.client.conversation("pay").send("Charge 5 dollars.").text();
  await vi.waitUntil(() => model.calls.length === 2);
  await runtime.restart();
  expect(await answer).toBe("Charged 500 cents.");
  expect(charges).toEqual([500]);
  // ---
});
