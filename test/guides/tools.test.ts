import { readFileSync } from "node:fs";
import { asSchema, tool, ToolLoopAgent, type ToolSet } from "ai";
import { MemoryStore, withToolVariables, wrapTools } from "byref/agent";
import { expect, it } from "vitest";
import * as z from "zod";
import { orders as shop } from "../../examples/agents/orders.ts";
import { scriptedModel } from "../../packages/testing/src/testing.ts";

const guide = readFileSync("docs/guides/tools.md", "utf8");

it("grows definitions as documented if references are strict", async () => {
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

it("uses a tool's own toModelOutput for a small value", async () => {
  const model = scriptedModel([[{ tool: "look", input: {} }], "Done."]);
  const look = tool({
    inputSchema: z.object({}),
    execute: () => ({ celsius: 9 }),
    toModelOutput: ({ output }) => ({ type: "text", value: `${output.celsius} degrees` }),
  });
  await withToolVariables(new ToolLoopAgent({ model, tools: { look } })).generate({ prompt: "?" });
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain("$look_1: 9 degrees");
});
