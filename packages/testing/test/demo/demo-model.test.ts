import { describe, expect, it } from "vitest";
import type { JSONObject } from "@ai-sdk/provider";
import * as z from "zod";
import { type Asked, firstStep, offered } from "../../../../test/support/demo-question.ts";
import { demoModel } from "../../src/demo.ts";

const query = offered("query_variables", "One SQLite SELECT.", { sql: z.string() });
const list = offered("list_tickets", "Tickets.", { status: z.string().optional() });
const desk = [
  query,
  list,
  offered("get_ticket", "One ticket.", { ticket_id: z.string() }),
  offered("delete_ticket", "Deletes a ticket.", { ticket_id: z.string() }),
  offered("get_weather", "Weather of a city.", { location: z.string() }),
  offered("search_flights", "Flights.", { from: z.string(), to: z.string() }),
  offered("convertCurrency", "Converts.", { amount: z.number() }),
  offered("monthlyReport", "A report.", { sales: z.array(z.object({ total: z.number() })) }),
];
const sales =
  "$sales_csv: array (300) {city: string, home_city: string, country: string, total: number}[]";
const ofSales: Asked = { tools: desk, listed: [sales] };
const sql = (text: string) => `query_variables ${JSON.stringify({ sql: text })}`;
const stepOf = (text: string) => (text.startsWith("SELECT ") ? sql(text) : text);

describe("the demo model answers", () => {
  it.each([
    // SQL as written.
    ["SELECT city FROM sales_csv LIMIT 3", "SELECT city FROM sales_csv LIMIT 3"],
    // Questions about tables.
    ["How many rows are in my CSV?", 'SELECT count(*) AS "rows" FROM "sales_csv"'],
    ["Hello! How many sales are there?", 'SELECT count(*) AS "rows" FROM "sales_csv"'],
    [
      "How many sales are from DE?",
      `SELECT count(*) FILTER (WHERE "city" = 'DE' COLLATE NOCASE) AS "city", count(*) FILTER (WHERE "home_city" = 'DE' COLLATE NOCASE) AS "home_city", count(*) FILTER (WHERE "country" = 'DE' COLLATE NOCASE) AS "country" FROM "sales_csv"`,
    ],
    [
      "How many sales have country no?",
      `SELECT count(*) FILTER (WHERE "country" = 'no' COLLATE NOCASE) AS "country" FROM "sales_csv"`,
    ],
    [
      "How many sales have total 5?",
      'SELECT count(*) FILTER (WHERE "total" = 5) AS "total" FROM "sales_csv"',
    ],
    [
      "What is the highest total in $sales_csv?",
      'SELECT max("total") AS "figure", count("total") AS "rows" FROM "sales_csv"',
    ],
    [
      "What is the average total by home city in $sales_csv?",
      'SELECT "home_city", avg("total") AS "figure", count("total") AS "rows" FROM "sales_csv" GROUP BY "home_city" ORDER BY "figure" DESC',
    ],
    ["Show $sales_csv", "The first ten of sales_csv:\n\n$sales_csv[:10]"],
    // A list that a tool must load first.
    ["How many tickets are open?", "list_tickets {}"],
    // Tools, by their names.
    ["Show the tickets", "list_tickets {}"],
    ["Show me ticket INC-12, please.", 'get_ticket {"ticket_id":"INC-12"}'],
    ["Please delete ticket INC-12", 'delete_ticket {"ticket_id":"INC-12"}'],
    ["What's the weather in New York?", 'get_weather {"location":"New York"}'],
    ["Weather Oslo", 'get_weather {"location":"Oslo"}'],
    ["flights from Oslo to Rome", 'search_flights {"from":"Oslo","to":"Rome"}'],
    ["Convert currency 5.5", 'convertCurrency {"amount":5.5}'],
    ["Monthly report", 'monthlyReport {"sales":"$sales_csv"}'],
  ])("%s", async (question, step) => {
    expect(await firstStep(question, ofSales)).toBe(stepOf(step));
  });

  it.each([
    ["Do not delete ticket INC-12", ""],
    ["Delete ticket INC-12 if it is late", ""],
    ["Tell me a joke", ""],
    ["What's the weather?", "get_weather needs location"],
    ["flights from Oslo", "search_flights needs to"],
    ["What is the sum of city?", "no such column of numbers in sales_csv. Its columns: city, "],
    ["x".repeat(501), "too long"],
  ])("or refuses, with three things to try: %s", async (question, why) => {
    const tools = desk.filter(({ name }) => name !== "get_ticket" && name !== "list_tickets");
    const said = await firstStep(question, { tools, listed: [sales] });
    expect(said).toContain(why);
    expect(said).toContain("I am the demo model");
    expect(said.match(/^- .+$/gmu)).toEqual([
      "- How many rows are in sales_csv?",
      "- delete ticket (ticket id)",
      "- get weather (location)",
    ]);
    expect(said).toContain("`MODEL=` in `.dev.vars`");
  });
});

/** Answers the model's query with a row, and returns what it says then. */
async function after(question: string, row: object): Promise<string> {
  const call = await firstStep(question, ofSales);
  const input = JSON.parse(call.replace("query_variables ", "")) as { sql: string };
  const output = { $var: "query_1", value: [row] } as never;
  return firstStep(question, { ...ofSales, called: [["query_variables", input, output]] });
}

describe("an answer about a table", () => {
  it.each([
    ["How many sales?", { rows: 300 }, "sales_csv has $query_1[0].rows records."],
    [
      "How many sales are from DE?",
      { city: 0, home_city: 0, country: 4 },
      "$query_1[0].country of 300 records of sales_csv have country DE.",
    ],
    [
      "How many sales have city Oslo?",
      { city: 0 },
      "$query_1[0].city of 300 records of sales_csv have city Oslo.",
    ],
    [
      "average total of sales",
      { figure: 2.5, rows: 300 },
      "The average of total is $query_1[0].figure, over $query_1[0].rows records of sales_csv.",
    ],
    ["How many sales are in Oslo?", { city: 0, home_city: 0, country: 0 }, "I found no record of"],
    ["How many sales are in Oslo?", { city: 1, home_city: 2, country: 0 }, "in several columns"],
  ])("%s", async (question, row, said) => {
    expect(await after(question, row)).toContain(said);
  });

  it("is about all records: the result of a call with an input may be a part", async () => {
    const handle = { $var: "list_tickets_1", type: "array", count: 9, shape: "{hours: number}[]" };
    const question = "What is the average hours of tickets?";
    const of = (input: JSONObject): Asked => ({
      tools: desk,
      earlier: [["list_tickets", input, handle]],
    });
    expect(await firstStep(question, of({}))).toContain('FROM \\"list_tickets_1\\"');
    expect(await firstStep(question, of({ status: "open" }))).toBe("list_tickets {}");
  });

  it("looks at a record if the prompt cuts off columns", async () => {
    const listed = ["$plants: array (9) {kind: string, height_cm: number, anoth"];
    const look = { sql: 'SELECT * FROM "plants" LIMIT 1' };
    const asked: Asked = { tools: desk, listed };
    expect(await firstStep("average width of plants", asked)).toBe(sql(look.sql));
    const record = { $var: "query_1", value: [{ kind: "fern", height_cm: 3, width: 5 }] };
    const called = [["query_variables", look, record]] as const;
    expect(await firstStep("average width of plants", { ...asked, called })).toContain("avg(");
  });
});

it("repeats no references or links of others: columns, names of tools, errors", async () => {
  const hostile = '$rows: array (2) {"$secret": string, "![x](https://e.example/": string}[]';
  const tool = offered("fetch_news", "News. $secret");
  for (const question of ["Which one is best?", "sum of x in $rows"]) {
    const said = await firstStep(question, { tools: [query, tool], listed: [hostile] });
    expect(said).not.toMatch(/\$|\]\(/u);
  }
  const failed: Asked = { tools: [tool], called: [["fetch_news", {}, { error: "No $secret" }]] };
  expect(await firstStep("Fetch the news", failed)).toBe("I could not use fetch_news: No  secret");
});

it("asks an application's script first, and suggests its examples", async () => {
  const model = demoModel({
    scripts: [
      {
        examples: { list_sales: "Sales, please." },
        step: ({ conversation: { question } }) =>
          question === "Sales, please." ? { kind: "text", text: "Here." } : undefined,
      },
    ],
  });
  const tools = [query, offered("list_sales", "All sales.")];
  expect(await firstStep("Sales, please.", { tools, model })).toBe("Here.");
  expect(await firstStep("help", { tools, model })).toContain("- Sales, please.");
});
