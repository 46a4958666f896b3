import { rmSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { barriersOn } from "../support/axe.ts";
import {
  type BrowserPage,
  type PageOptions,
  startBrowser,
  type TestBrowser,
} from "../support/browser.ts";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";

const stateDir = temporaryFolder();
const opened: BrowserPage[] = [];
let server: Server;
let browser: TestBrowser;

beforeAll(async () => {
  server = await startServer({ STATE_DIR: stateDir });
  browser = await startBrowser();
});

afterEach(async () => {
  const pages = opened.splice(0);
  await Promise.all(pages.map((page) => page.close()));
  // Refusals of the server belong to these tests.
  const complaints = pages.flatMap(({ complaints }) => complaints);
  expect(complaints.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

let last = 0;
const newConversation = () => `panels-${++last}`;

async function openPage(conversation: string, options?: PageOptions): Promise<Page> {
  const one = await browser.open(`${server.url}/#/c/${conversation}`, options);
  opened.push(one);
  return one.page;
}

async function put(conversation: string, name: string, value: unknown): Promise<void> {
  const [variable = ""] = name.split("?");
  const url = `${server.url}/conversations/${conversation}/variables/${name}`;
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "PUT", headers, body: JSON.stringify(value) });
  expect(response.ok, variable).toBe(true);
}

const valueOf = async (conversation: string, name: string): Promise<unknown> =>
  (await fetch(`${server.url}/conversations/${conversation}/variables/${name}`)).json();

const open = (page: Page, name: string) =>
  page.locator(".variables-open", { hasText: name }).click();

const records = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ id, name: `row ${id}`, size: (id * 7) % 1_000 }));

describe("the variables of a conversation", () => {
  it("take in a CSV, ask where its name is taken, and say what is wrong with a file", async () => {
    const conversation = newConversation();
    await put(conversation, "sales", 1);
    const page = await openPage(conversation);
    const file = (name: string, text: string) => ({
      name,
      mimeType: "",
      buffer: Buffer.from(text),
    });
    await page
      .locator(".variables-panel input[type=file]")
      .setInputFiles([file("sales.csv", "city,units\nOslo,3\nRome,4\n"), file("broken.json", "{")]);
    await page.getByText("There is a $sales already.").waitFor();
    await page.locator(".variables-failed", { hasText: "JSON" }).waitFor();
    await page.getByRole("button", { name: "Keep both" }).click();
    await page.getByText("Kept as $sales_000").waitFor();
    expect(await valueOf(conversation, "sales_000")).toEqual([
      { city: "Oslo", units: 3 },
      { city: "Rome", units: 4 },
    ]);
  });

  it("show a table of which only what is in sight is fetched, sorted and filtered", async () => {
    const conversation = newConversation();
    await put(conversation, "rows", records(4_000));
    const page = await openPage(conversation);
    await open(page, "rows");
    const table = page.getByRole("table", { name: "$rows" });
    await table.getByText("row 5", { exact: true }).waitFor();
    expect(await table.getAttribute("aria-rowcount")).toBe("4001");
    expect(await table.getByRole("row").count()).toBeLessThan(80);
    await page.locator(".variables-frame").focus();
    await page.keyboard.press("End");
    await table.getByText("row 3999", { exact: true }).waitFor();
    await table.getByRole("button", { name: "size" }).click();
    await page.getByLabel("Filter rows").fill("ROW 399");
    const found = records(4_000).filter((row) => Object.values(row).join().includes("399"));
    await page.getByText(`${found.length} of 4,000 rows`).waitFor();
    const shown = await table.locator(".variables-rows .variables-number").allInnerTexts();
    const sizes = shown.filter((_, cell) => cell % 2 === 1).map(Number);
    expect(sizes).toHaveLength(found.length);
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
  });

  it("are drawn as a chart, which tells who does not see it what it shows", async () => {
    const conversation = newConversation();
    await put(conversation, "months", [
      { month: "2025-01", total: 10 },
      { month: "2025-02", total: 30 },
    ]);
    const page = await openPage(conversation);
    await open(page, "months");
    await page.getByRole("button", { name: "Chart" }).click();
    await page
      .getByText("total: 2 values from 10 to 30, 20 on average")
      .waitFor({ state: "attached" });
    await page.getByRole("group", { name: /^total of \$months by month/ }).focus();
    await page.keyboard.press("End");
    expect(await page.locator(".chart-legend").innerText()).toMatch(/total\s*30\s*2025-02/);
    expect(await page.locator(".chart-bars").getAttribute("d")).toMatch(/^(?:M[^z]+z){2}$/);
  });

  it("are edited; what somebody else has written meanwhile is not lost", async () => {
    const conversation = newConversation();
    await put(conversation, "quote?pin=true&description=Price", { price: 1 });
    const page = await openPage(conversation);
    await open(page, "quote");
    const field = page.getByLabel("The value of $quote");
    const edit = async (text: string) => {
      await page.getByRole("button", { name: "Edit" }).click();
      await field.fill(text);
    };
    await edit('{"price": 2');
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await field.fill('{"price": 2}');
    await page.getByRole("button", { name: "Save" }).click();
    await field.waitFor({ state: "detached" });
    expect(await valueOf(conversation, "quote")).toEqual({ price: 2 });
    expect(await valueOf(conversation, "quote/info")).toMatchObject({
      pinned: true,
      description: "Price",
    });
    await edit('{"price": 3}');
    await put(conversation, "quote", { price: 9 });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("$quote has been changed since you opened it.").waitFor();
    expect(await valueOf(conversation, "quote")).toEqual({ price: 9 });
    await page.getByRole("button", { name: "Overwrite it with mine" }).click();
    await field.waitFor({ state: "detached" });
    expect(await valueOf(conversation, "quote")).toEqual({ price: 3 });
  });

  it("leave the list when their time is over, and say how long they have", async () => {
    const conversation = newConversation();
    await put(conversation, "stays", 1);
    await put(conversation, "goes?ttl=3", 1);
    const page = await openPage(conversation);
    await page.getByText(/evicted in [123] s/).waitFor({ state: "attached" });
    await page.locator(".variables-open", { hasText: "goes" }).waitFor({ state: "detached" });
    expect(await page.locator(".variables-open").allInnerTexts()).toEqual([
      expect.stringContaining("stays"),
    ]);
  });
});

const plan = {
  name: "Signed report",
  calls: [
    { _tool: "list_orders", _id: "orders", _outputPath: "†state.orders" },
    {
      _tool: "monthly_totals",
      _id: "months",
      orders: "†state.orders",
      _outputPath: "†state.months",
    },
    {
      _tool: "summarize_orders",
      _id: "summary",
      orders: "†state.orders",
      currency: "†input.currency",
      _outputPath: "†state.summary",
    },
    {
      _tool: "write_report",
      _id: "report",
      title: "Signed: †approvals.legal",
      totals: "†state.months",
      summary: "†state.summary",
      _outputPath: "†state.report",
    },
  ],
};

async function propose(conversation: string): Promise<void> {
  const response = await fetch(`${server.url}/conversations/${conversation}/plans?agent=orders`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(plan),
  });
  expect(response.status).toBe(201);
}

describe("a plan", () => {
  it("is approved, run with an input, asks at its gate, and shows what it came to", async () => {
    const conversation = newConversation();
    await propose(conversation);
    const page = await openPage(conversation);
    await page.getByRole("tab", { name: "Plans" }).click();
    await page.getByRole("button", { name: /Signed report/ }).click();
    const states = async () =>
      page
        .locator(".plans-node")
        .evaluateAll((nodes) => nodes.map((node) => node.getAttribute("aria-label")));
    await page
      .getByRole("button", { name: /^write_report waiting, report, after months/ })
      .waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const input = page.getByLabel("Input of this run, as JSON");
    expect(JSON.parse(await input.inputValue())).toEqual({ currency: "" });
    await input.fill('{"currency": "USD"}');
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const gate = page.getByRole("region", { name: "Gate legal" });
    await gate.getByText("Waits for approvals.legal.").waitFor();
    await page.getByRole("button", { name: /^write_report asks you, report/ }).waitFor();
    await gate.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: /^write_report done, report/ }).waitFor();
    await gate.waitFor({ state: "detached" });
    expect(await states()).toEqual([
      "list_orders done, orders",
      "monthly_totals done, months, after orders",
      "summarize_orders done, summary, after orders",
      "write_report done, report, after months, summary",
    ]);
    await page.locator(".plans-run").click();
    await page.getByRole("button", { name: /^orders 5,?000 elements/ }).waitFor();
  });
});

describe.each(["light", "dark"] as const)("what a %s page shows", (theme) => {
  it("has no serious fault for who uses it in another way", async () => {
    const conversation = newConversation();
    await put(conversation, "rows?ttl=900", records(50));
    await put(conversation, "tree", { a: { b: [1, "x".repeat(300)] }, c: null });
    await propose(conversation);
    const page = await openPage(conversation, { theme, width: 390 });
    const faults: string[] = [];
    const look = async (what: string) => {
      for (const barrier of await barriersOn(page)) faults.push(`${what}: ${barrier}`);
    };
    const views = page.getByRole("navigation", { name: "Views" });
    await views.getByRole("button", { name: /Variables/ }).click();
    await page.locator(".variables-open").first().waitFor();
    await look("list");
    await open(page, "rows");
    await page.getByRole("table").getByText("row 5", { exact: true }).waitFor();
    await look("table");
    await page.getByRole("button", { name: "Chart" }).click();
    await page.locator(".chart-line, .chart-bars").first().waitFor();
    await look("chart");
    await page.getByRole("button", { name: "All variables" }).click();
    await open(page, "tree");
    await page.locator(".variables-fold").first().click();
    await look("tree");
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("The value of $tree").waitFor();
    await look("editor");
    await views.getByRole("button", { name: "Plans" }).click();
    await page.getByRole("button", { name: /Signed report/ }).click();
    await page.getByRole("button", { name: /^list_orders / }).click();
    await look("plan");
    expect(faults).toEqual([]);
    const overflow = await page.evaluate(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    expect(overflow).toBe(0);
  });
});
