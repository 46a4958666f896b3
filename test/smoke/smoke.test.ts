import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { signedReport } from "../support/page-answers.ts";
import { it } from "../support/page-test.ts";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";
import { textOf } from "../support/turn-client.ts";
import { listed, variablesPage } from "../support/variables-page.ts";

const STATE_DIR = temporaryFolder();
let demo: Server;

beforeAll(async () => void (demo = await startServer({ STATE_DIR })));

afterAll(async () => {
  await demo?.stop();
  rmSync(STATE_DIR, { recursive: true, force: true });
});

it("npm start answers, stops, and has the conversation when it starts again", async () => {
  const asked = () => createClient(demo.url).conversation("asked");
  const answer = await asked().send("What's the weather in NYC?").text();
  expect(answer).toContain("New York");
  expect(await demo.stop("SIGINT")).toEqual({ code: 0, signal: null, survivors: 0 });

  demo = await startServer({ STATE_DIR });
  const { messages } = await asked().messages();
  expect(messages.map(textOf)).toEqual(["What's the weather in NYC?", answer]);
  expect(await asked().variables.get("get_weather_nyc")).toMatchObject({ city: "New York" });
});

it("the page queries records, and draws and saves the result", async ({ open }) => {
  const { page, variables } = await variablesPage({ open, demo, forgives: /status of 400/ });
  const orders = Array.from({ length: 300 }, (_, id) => ({ id, city: `c${id % 3}`, total: id }));
  await variables.put("orders", orders);
  await listed(page, "orders").click();
  const query = page.getByLabel("SQL query");
  await query.fill("SELECT cty, sum(total) AS total FROM orders GROUP BY 1");
  await query.press("Enter");
  await page.getByText("Did you mean city?").waitFor();
  await query.fill("SELECT city, sum(total) AS total FROM orders GROUP BY city");
  await page.getByRole("button", { name: "Run query" }).click();
  const table = page.getByRole("table", { name: "$result" });
  await table.getByText("15,050", { exact: true }).waitFor();
  expect(await table.getAttribute("aria-rowcount")).toBe("4");
  await page.getByRole("button", { name: "Chart" }).click();
  await page.getByText(/total: 3 values from 14,?850/).waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Table" }).click();
  await page.getByLabel("Name of the new variable").fill("sums");
  await page.getByRole("button", { name: "Save 3 rows as a variable" }).click();
  await page.getByText("Saved as $sums").waitFor();
  expect(await variables.get("sums")).toHaveLength(3);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("table", { name: "$orders" }).waitFor();
});

it("the page approves a plan, runs it, answers its gate and shows the result", async ({ open }) => {
  const id = crypto.randomUUID();
  const { plans } = createClient(demo.url).conversation(id);
  await plans.propose(signedReport, { agent: "orders" });
  const page = await open(`${demo.url}/#/c/${id}`);
  await page.getByRole("tab", { name: "Plans" }).click();
  await page.getByRole("button", { name: /Signed report/ }).click();
  const states = () =>
    page
      .locator(".plans-node")
      .evaluateAll((nodes) => nodes.map((node) => node.getAttribute("aria-label")));
  await page
    .getByRole("button", { name: /^write_report waiting, report, depends on months/ })
    .waitFor();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const input = page.getByLabel("Input of this run, as JSON");
  expect(JSON.parse(await input.inputValue())).toEqual({ currency: "" });
  await input.fill('{"currency": "USD"}');
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const gate = page.getByRole("region", { name: "Gate legal" });
  await gate.getByText("Waits for approvals.legal.").waitFor();
  await page.getByRole("button", { name: /^write_report needs your approval, report/ }).waitFor();
  await page.getByRole("tab", { name: "Plans 1 approval needed" }).waitFor();
  const banner = page.getByRole("status").filter({ hasText: "1 approval needed" });
  await page.getByRole("tab", { name: "Events" }).click();
  await banner.getByRole("button", { name: "Show it" }).click();
  await gate.waitFor();
  await gate.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByRole("button", { name: /^write_report done, report/ }).waitFor();
  await gate.waitFor({ state: "detached" });
  expect(await states()).toEqual([
    "list_orders done, orders",
    "monthly_totals done, months, depends on orders",
    "summarize_orders done, summary, depends on orders",
    "write_report done, report, depends on months, summary",
  ]);
});
