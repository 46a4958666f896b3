import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asSchema, generateText, isStepCount, tool, ToolLoopAgent, type ToolSet } from "ai";
import {
  MemoryStore,
  sqliteStore,
  summaryOf,
  variableTools,
  withToolVariables,
  wrapTools,
} from "byref/agent";
import { expect, it } from "vitest";
import * as z from "zod";
import { orders as shop } from "../../examples/agents/orders.ts";
import { scriptedModel } from "../../src/testing.ts";

const guide = readFileSync("docs/guides/tools.md", "utf8");
const orders = Array.from({ length: 200 }, (_, id) => ({ id, total: 2 }));
const given: unknown[] = [];
const tools = {
  list_orders: tool({ inputSchema: z.object({}), execute: () => orders }),
  sum: tool({
    inputSchema: z.object({ numbers: z.array(z.number()) }),
    execute: ({ numbers }) => {
      given.push(numbers.length);
      return numbers.reduce((sum, number) => sum + number, 0);
    },
  }),
};
const steps = [
  [{ tool: "list_orders", input: {} }],
  [{ tool: "sum", input: { numbers: "$list_orders_1[*].total" } }],
  "All in all $sum_1.",
];

it("grows definitions as far as the guide says, where references are strict", async () => {
  const store = new MemoryStore();
  const rows = Array.from({ length: 60 }, (_, at) => ({
    id: `ord_${at}`,
    customer: "a",
    total: at,
    currency: "USD",
  }));
  const charsOf = async (options: object) => {
    const wrapped: ToolSet = wrapTools<ToolSet>(shop.tools, { store, ...options });
    const schemas = Object.values(wrapped).map((one) => asSchema(one.inputSchema).jsonSchema);
    return JSON.stringify(await Promise.all(schemas)).length - schemas.length - 1;
  };
  await store.save({ name: "list_orders_1", value: rows });
  await store.save({
    name: "totals",
    value: { count: 60, sum: 12.5, average: 3.2, currency: "USD" },
  });
  await store.save({
    name: "weather_nyc",
    value: { city: "NYC", temp: 72, days: [{ day: "Mo", high: 1 }] },
  });
  await store.save({ name: "report", value: "A text. ".repeat(300) });
  await store.save({ name: "limit", value: 7 });
  const five = await charsOf({ references: "strict" });
  for (let at = 2; at <= 16; at++) await store.save({ name: `list_orders_${at}`, value: rows });
  const figures = [await charsOf({}), five, await charsOf({ references: "strict" })];
  const [without, few, many] = figures.map((chars) => chars.toLocaleString("en-US"));
  expect(guide).toContain(
    `take ${without} characters of schema without it, ${few} with it and 5 variables, ${many} with 20.`,
  );
});

it("runs the SDK's own agent by reference", async () => {
  const model = scriptedModel([...steps, "Still $sum_1."]);
  // --- the SDK's own agent
  const store = new MemoryStore(); // one for each conversation
  const agent = withToolVariables(new ToolLoopAgent({ model, tools }), { store });
  const { text, responseMessages } = await agent.generate({ prompt: "How much?" });
  // ---
  expect(text).toBe("All in all 400.");
  expect(given).toEqual([200]);
  expect(JSON.stringify(responseMessages)).toContain("All in all $sum_1.");
  expect(JSON.stringify(responseMessages).length).toBeLessThan(2_000);
  const again = [...responseMessages, { role: "user" as const, content: "And now?" }];
  expect((await agent.generate({ messages: again })).text).toBe("Still 400.");
  const namesOf = ({ tools = [] }: { tools?: readonly { name: string }[] | undefined }) =>
    tools.map(({ name }) => name);
  // None of those that look into variables.
  expect(model.calls.map(namesOf)).toEqual(model.calls.map(() => ["list_orders", "sum"]));
});

it("keeps a conversation on disk, and lets its model look into the variables", async () => {
  const folder = mkdtempSync(join(tmpdir(), "guide-"));
  const file = join(folder, "conversation.sqlite");
  const before = sqliteStore(file);
  await before.save({ name: "orders", value: orders });
  before.close();
  const model = scriptedModel([
    [{ tool: "read_variable", input: { name: "orders", path: "[199]" } }],
    "199.",
  ]);
  // --- a store on disk
  const store = sqliteStore(file); // Node 22.13 or newer; one file for each conversation
  const { text } = await generateText({
    model,
    tools: { ...wrapTools(tools, { store }), ...variableTools({ store, only: ["read_variable"] }) },
    stopWhen: isStepCount(5),
    prompt: `${summaryOf(store)}\n\nWhat is the last one?`,
  });
  store.close();
  // ---
  expect(text).toBe("199.");
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain("## orders");
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('"id":199');
  rmSync(folder, { recursive: true, force: true });
});

it("asks a tool's own toModelOutput where the value is small", async () => {
  const model = scriptedModel([[{ tool: "look", input: {} }], "Done."]);
  const look = tool({
    inputSchema: z.object({}),
    execute: () => ({ celsius: 9 }),
    toModelOutput: ({ output }) => ({ type: "text", value: `${output.celsius} degrees` }),
  });
  await withToolVariables(new ToolLoopAgent({ model, tools: { look } })).generate({ prompt: "?" });
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain("$look_1: 9 degrees");
});
