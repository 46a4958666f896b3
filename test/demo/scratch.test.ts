import { it } from "vitest";
import * as z from "zod";
import { firstStep, offered } from "../support/demo-question.ts";
const tools = [
  offered("list_tickets", "Tickets.", { status: z.enum(["open", "closed"]).optional(), assignee: z.string().optional() }),
  offered("get_user", "A user by email.", { email: z.string() }),
  offered("search_docs", "Searches docs.", { query: z.string() }),
  offered("send_email", "Sends an email.", { to: z.string(), subject: z.string(), body: z.string() }),
  offered("transfer_money", "Transfers money.", { amount: z.number(), account: z.string() }),
  offered("get_invoice_total", "Total of an invoice.", { invoice_id: z.string() }),
  offered("weather", "Weather of a city.", { city: z.string(), unit: z.enum(["celsius", "fahrenheit"]).optional() }),
  offered("list_customers", "All customers.", {}),
  offered("cancel_order", "Cancels.", { order_id: z.string(), reason: z.string().optional() }),
  offered("get_stock_price", "Stock price.", { symbol: z.string() }),
  offered("toggle_lights", "Lights.", { on: z.boolean() }),
  offered("query_variables", "SQL", { sql: z.string() }),
];
const listed = ["$orders: array (50) {id: string, country: string, total: number, placed_at: string, paid: boolean, note: string}[]"];
const questions = `Show tickets assigned to Ada
Show tickets with assignee Ada
Show tickets with assignee Ada or Bob
Show tickets without assignee
How many tickets with status open and assignee Ada
Show open and closed tickets
Get user ada@example.com
Get user Ada
search docs for retries
search docs for "how to not fail"
search docs for retries but not timeouts
search docs about retries
Send an email to bob@x.com with subject "Hi" and body "There"
Send an email to bob@x.com
Transfer money 500 to account DE12
Transfer 500 money from account DE12
transfer money of 500 EUR to account DE12
transfer no money to account DE12
Should I transfer money 500 to account DE12?
What is the invoice total of INV-3?
What is the total of invoice INV-3?
What is the weather in Paris in fahrenheit?
What is the weather in Paris and London in celsius?
What's not the weather in Paris?
Weather in Paris
How many customers do we have?
How many customers are from Germany?
cancel order 17
cancel order 17 with reason late
cancel order 17 and 18
cancel my order
I cancel order 17?
cancel order 17 tomorrow
Do not cancel order 17
Was order 17 cancelled?
stock price of AAPL
stock price of Apple and Google
toggle lights on
toggle the lights off
How many orders are paid?
How many orders where paid is true?
How many orders where paid is false?
How many orders are not paid?
sum of total of the orders by country with paid yes
total of orders in the UK
orders in USA
How many orders with note “50% off”
How many orders with placed at 2025-01-01
How many orders placed in 2025
orders with the highest total
order with id 17
orders with id 17 and total 5
orders where total is -5
orders where total is 5 or more
orders where total is 1,5
orders where total is 1,500
orders with total 5 euros
How many orders have country null
How many orders have an empty note
average of total divided by items
what's the total minus tax of orders
total and count of orders
orders grouped by country
number of orders grouped by country and paid
number of orders by country in Germany or France
Show orders sorted by total
How many orders per customer
who has the highest total
list orders limit 5
orders orders orders
How many of the orders are there
Are there orders from France?
Is there any order with total 5?
How many orders does country DE have?
max total order in France
what is the average order total?
What is the average order?
total country
orders: 5
orders (from Germany)
orders from “Germany”
orders from germany, france
Please show me all of the orders from the United States of America
orders from New Zealand by total
`.trim().split("\n");
it("scratch", async () => {
  for (const q of questions) {
    const said = await firstStep(q, { tools, listed });
    console.log(`${q}\n      ${said.replace(/ I can:[^]*/, " [..]").replace(/count\(\*\) FILTER.*?FROM/, "FIND… FROM").slice(0, 230).replaceAll("\n", " ⏎ ")}`);
  }
});
