import { tool, type UIMessage } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { csvRecords, modelFromSettings, queries } from "../../../src/byref.ts";
import { demoModels } from "../../../packages/testing/src/demo.ts";
import { ask, call, type Call, json, newId, textOf } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";

const tickets = Array.from({ length: 40 }, (_, at) => ({
  id: `T-${at}`,
  title: `Ticket ${at} about something that takes a few words`,
  status: at % 4 === 0 ? "open" : "closed",
  owner: at % 2 === 0 ? "Bob" : "Ada",
}));
const desk = {
  name: "desk",
  description: "A help desk.",
  instructions: "Help.",
  tools: {
    list_tickets: tool({
      description: "Tickets of the help desk.",
      inputSchema: z.object({ status: z.enum(["open", "closed"]).optional() }),
      execute: ({ status }) =>
        tickets.filter((one) => status === undefined || one.status === status),
    }),
  },
};

/** Orders with more columns than a list of variables shows. */
const rows = Array.from({ length: 300 }, (_, at) => ({
  order_number: `o${at}`,
  customer: at % 3 === 0 ? "Zoë Ångström" : "Ada Abara",
  country: ["DE", "US", "FR"][at % 3] ?? "",
  shipping_method: "air",
  city: ["Berlin", "Boston", "Paris"][at % 3] ?? "",
  total: (at % 7) + 0.5,
  state: at % 5 === 0 ? "DE" : "NY",
}));
const csv = [Object.keys(rows[0] ?? {}), ...rows.map(Object.values)].join("\n");

async function answerTo(callOwn: Call, message: string): Promise<string> {
  const init = json({ message }, { accept: "application/json" });
  const response = await callOwn("POST", "/conversations/c/messages", init);
  expect(response.status).toBe(200);
  return textOf((await response.json<{ message: UIMessage }>()).message);
}

it("answers questions about a CSV and tools that it has never seen, over HTTP", () => {
  const model = modelFromSettings(demoModels);
  const options = { agents: [desk] as const, model, queries, csv: csvRecords };
  const settings = { bindings: { AUTH: "none", MODEL: "demo" } };
  return withRuntime(
    options,
    async (own) => {
      const headers = { "content-type": "text/csv" };
      const sent = await own.call("PUT", "/conversations/c/variables/sales_csv", {
        body: csv,
        headers,
      });
      expect(sent.status).toBe(201);
      const inGermany = rows.filter(({ country }) => country === "DE");
      const answers = {
        "How many rows are in my CSV?": "sales_csv has 300 records.",
        "How many sales are from Germany?": `${inGermany.length} of 300 records of sales_csv have country Germany or DE.`,
        "How many sales are from Atlantis?": "I found no record of sales_csv in which “Atlantis”",
        "How many sales have country Norway?":
          "0 of 300 records of sales_csv have country Norway or NO.",
        "What is the average total by city in $sales_csv?": "| city | figure | rows |",
        "How many sales are from DE?": "“DE” is in several columns (country, state)",
        "Show the tickets": "list_tickets returned 40 records",
        "How many tickets have owner Ada?": "20 of 40 records of list_tickets_1 have owner Ada",
        "How many tickets are overdue?": "in which “overdue” is the value",
        "SELECT count(*) AS n FROM sales_csv": "300",
      };
      for (const [question, said] of Object.entries(answers)) {
        expect(await answerTo(own.call, question), question).toContain(said);
      }
    },
    settings,
  );
});

it("answers for the shop from the country, and names no city of its own accord", async () => {
  const id = newId();
  const { message } = await ask(id, "How many orders are from Germany?", { agent: "orders" });
  const [count = ""] = textOf(message).split(" ");
  expect(Number(count)).toBeGreaterThan(0);
  expect(Number(count)).toBeLessThan(5_000);
  expect(textOf(message)).toContain(
    `${count} of 5000 records of list_orders_1 have country Germany or DE.`,
  );
  const weather = await ask(newId(), "What's the weather in NYC and Atlantis?", {
    agent: "weather",
  });
  expect(textOf(weather.message)).toContain("in New York with");
  expect(textOf(weather.message)).toContain('Unknown city "Atlantis"');
});

it("queries a table with the shop's words if the shop's tools are not offered", async () => {
  const id = newId();
  const refused = await ask(id, "How many orders do I have?", { agent: "weather" });
  expect(textOf(refused.message)).toContain("list_orders is not offered");
  await call("PUT", `/conversations/${id}/variables/orders`, json(rows));
  const { message } = await ask(id, "How many orders do I have?", { agent: "weather" });
  expect(textOf(message)).toBe("orders has 300 records.");
});
