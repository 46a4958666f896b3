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
const sumOf = (list: readonly { total: number }[]) =>
  list.reduce((sum, { total }) => sum + total, 0);

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
        "How many sales have customer zoë ångström?":
          "100 of 300 records of sales_csv have customer zoë ångström.",
        "How many sales are from Atlantis?": "I found no record of sales_csv in which “Atlantis”",
        "How many sales have country Norway?":
          "There are no records of sales_csv with country Norway or NO: 0 of 300.",
        "What is the sum of total of the sales with city Paris?": `The sum of total is ${sumOf(rows.filter(({ city }) => city === "Paris"))}, over 100 records`,
        "What is the average total by city with state NY?": "| city | average | rows |",
        "How many sales are not from Germany?": "I do not know what to do with “not”.",
        "How many sales are from DE?": "“DE” may be meant of several columns (country and state)",
        "Which tickets are open?": "list_tickets with status open returned 10 records",
        "How many tickets have owner Ada?": "20 of 40 records of list_tickets",
        "How many tickets are overdue?": "in which “overdue” is the value",
        "Show the tickets that are not open": "I do not know what to do with “not”",
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
  const listed = await ask(id, "Show my orders from Germany", { agent: "orders" });
  const [count = ""] = textOf(message).split(" ");
  expect(Number(count)).toBeGreaterThan(0);
  expect(Number(count)).toBeLessThan(5_000);
  expect(textOf(message)).toContain(
    `${count} of 5000 records of list_orders_1 have country Germany or DE.`,
  );
  expect(textOf(listed.message)).toContain(`${count} of 5000 records of list_orders_1 have`);
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

it("answers questions about an export with many columns, as a person names them", () => {
  const model = modelFromSettings(demoModels);
  const options = { agents: [desk] as const, model, queries, csv: csvRecords };
  const settings = { bindings: { AUTH: "none", MODEL: "demo" } };
  const names = Array.from({ length: 30 }, (_, at) => `Long name of the column ${at + 1} (EUR)`);
  const stages = ["Won", "won", "WON", "Lost", "lost"];
  const lines = stages.map((stage, row) => [stage, ...names.map((_, at) => row + at)].join(","));
  return withRuntime(
    options,
    async (own) => {
      const body = [["Stage", ...names].join(","), ...lines].join("\n");
      const headers = { "content-type": "text/csv" };
      await own.call("PUT", "/conversations/c/variables/deals", { body, headers });
      const answers = {
        'What is the sum of "Long name of the column 17 (EUR)" of deals?': "is 90, over 5 records",
        "What is the sum of Long name of the column 30 (EUR) of deals?": "is 155, over 5 records",
        "How many deals have Stage won?": "3 of 5 records of deals have Stage won.",
        "How many deals by Stage?": /\| WON \| 3 \|\n\| Lost \| 2 \|/,
      };
      for (const [question, said] of Object.entries(answers)) {
        const answer = await answerTo(own.call, question);
        if (typeof said === "string") expect(answer).toContain(said);
        else expect(answer).toMatch(said);
      }
    },
    settings,
  );
});
