import type { Locator } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth } from "../support/axe.ts";
import { ask, askExample, cardOf, eventually, idIn, it } from "../support/page-test.ts";
import { listed, records, variablesPage } from "../support/variables-page.ts";

const ORDERS = /monthly totals of my orders\?/;
/** Pixels between the end of the messages and the composer, as a script. */
const BELOW = `(() => {
  const box = document.querySelector(".chat-scroll");
  return Math.round(box.scrollHeight - box.scrollTop - box.clientHeight);
})()`;

it("the end of an answer stays in view, unless somebody scrolls up", async ({ open, demo }) => {
  const page = await open(demo.url, { height: 560 });
  const late = Promise.withResolvers<void>();
  await page.route(/\/variables\?|\/receipt$|form=reference/, async (route) => {
    await late.promise;
    await route.continue();
  });
  await askExample(page, ORDERS);
  late.resolve();
  await page.getByRole("group", { name: "Follow-up questions" }).waitFor();
  await page.getByRole("region", { name: "What the model read" }).waitFor();
  await eventually(async () => expect(await page.evaluate(BELOW)).toBeLessThan(2));
  const latest = page.getByRole("button", { name: "Jump to latest" });
  expect(await latest.count()).toBe(0);

  await page.locator(".chat-scroll").hover();
  await page.mouse.wheel(0, -400);
  await latest.waitFor();
  await page.evaluate(`document.querySelector(".message-answer").style.paddingBottom = "900px"`);
  await eventually(async () => expect(await page.evaluate(BELOW)).toBeGreaterThan(900));
  await latest.click();
  await latest.waitFor({ state: "detached" });
  expect(await page.evaluate(BELOW)).toBeLessThan(2);
});

it("an answer says which value went where, and what the model read of it", async ({
  open,
  demo,
}) => {
  const page = await open(demo.url);
  await page.getByRole("button", { name: ORDERS }).click();
  const proof = page.getByRole("region", { name: "What the model read" });
  await proof.waitFor();
  expect(await proof.innerText()).toMatch(
    /^779 KB went from list_orders to monthly_totals\. The model read \d\d characters of it and wrote 31 characters\./,
  );
  expect(await proof.getByText(/^(?:Sent to the model|Without references)$/).count()).toBe(2);
  const call = page.getByRole("region", { name: "Call of monthly_totals" });
  await call.getByRole("button", { name: "orders: $list_orders_1 · 779 KB" }).waitFor();
  await proof.getByRole("button", { name: "See what the model wrote" }).click();
  await call.getByLabel("orders, as the model wrote it").waitFor();

  await ask(page, "What are the monthly totals of my orders?");
  await proof.nth(1).waitFor();
  expect(await proof.getByText("Without references").count()).toBe(1);
});

describe("a conversation that the server does not know", () => {
  const forgives = /404/;
  const gone = "This conversation was deleted, or its link is not complete.";

  it("is named, and a new one is offered", async ({ open, demo }) => {
    const page = await open(`${demo.url}/#/c/never-begun`, { forgives });
    await page.getByText(gone).waitFor();
    expect(await page.getByLabel("Message", { exact: true }).count()).toBe(0);
    expect(await barriersInBoth(page)).toEqual([]);
    const main = page.getByRole("main");
    await main.getByRole("button", { name: "New conversation" }).click();
    await page.getByText("Tools return variables.").waitFor();
    await page.reload();
    await page.getByText("Tools return variables.").waitFor();
  });

  it("is no longer shown when it is deleted elsewhere", async ({ open, demo }) => {
    const page = await open(demo.url, { forgives });
    await askExample(page, ORDERS);
    await page.getByRole("tab", { name: "Variables 2" }).waitFor();
    await createClient(demo.url).conversation(idIn(page)).delete();
    await page.getByText(gone).waitFor();
    expect(await page.getByRole("article").count()).toBe(0);
  });
});

it("a large table is filtered, sorted and counted as a whole", async ({ open, demo }) => {
  const { page, variables } = await variablesPage({ open, demo, forgives: /404/ });
  const rows = records(10_000).map((row) => ({ ...row, isPaid: row.id % 5_000 === 1 }));
  await variables.put("large", rows);
  await listed(page, "large").click();
  const table = page.getByRole("table", { name: "$large" });
  await table.getByText("row 5", { exact: true }).waitFor();
  // Only the visible rows are fetched.
  expect(await table.getAttribute("aria-rowcount")).toBe("10001");
  expect(await table.getByRole("row").count()).toBeLessThan(80);
  await page.locator(".variables-frame").focus();
  await page.keyboard.press("End");
  await table.getByText("row 9999", { exact: true }).waitFor();
  const filter = page.getByLabel("Filter rows");
  for (const [text, count] of [
    ["ROW 999", 11],
    ["row 5 5", 0],
    ["true", 2],
  ] as const) {
    await filter.fill(text);
    await page.getByText(`${count} of 10,000 rows`).waitFor();
  }
  await filter.fill("");
  const sort = table.getByRole("button", { name: "id", exact: true });
  await sort.click();
  await table.locator("[aria-sort=ascending]").waitFor();
  await sort.click();
  await table.getByText("row 9999", { exact: true }).waitFor();

  await page.route(/\/query$/, (route) => route.fulfill({ status: 404, json: {} }));
  await filter.fill("row 9998");
  await page.getByText(/^Sorts and filters the [\d,]+ loaded rows of 10,000\./).waitFor();
});

it("a column has one format of numbers, which are copied whole, as long texts are (Ivy-Interactive/Ivy-Framework#4570)", async ({
  open,
  demo,
}) => {
  const { page, variables } = await variablesPage({ open, demo });
  const note = "word ".repeat(100).trim();
  await variables.put("sums", [{ average: 499.95499549954997, note }, { average: 12 }]);
  await listed(page, "sums").click();
  const table = page.getByRole("table", { name: "$sums" });
  await table.getByRole("cell", { name: "12.00", exact: true }).waitFor();
  await table.getByRole("cell", { name: "499.95", exact: true }).dblclick();
  await page.keyboard.press("ControlOrMeta+c");
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe("499.95499549954997");
  await table.getByRole("cell", { name: /^word .*…$/ }).click({ clickCount: 3 });
  await page.keyboard.press("ControlOrMeta+c");
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(note);
});

/** Returns the texts of the cells of each row. */
async function rowsIn(table: Locator): Promise<readonly (readonly string[])[]> {
  const rows = await table.getByRole("row").all();
  return Promise.all(
    rows.map((row) => row.getByRole("cell").or(row.getByRole("columnheader")).allInnerTexts()),
  );
}

it("the example with 5,000 orders shows totals as a table and a chart", async ({ open, demo }) => {
  const page = await open(demo.url);
  await askExample(page, /monthly totals of my orders\?/);
  const client = createClient(demo.url).conversation(idIn(page));
  const totals = await client.variables.get<readonly Record<string, unknown>[]>("monthly_totals_1");
  const answer = page.getByRole("article", { name: "Answer" });
  const [head = [], ...rows] = await rowsIn(answer.getByRole("table"));
  expect(head).toEqual(Object.keys(totals[0] ?? {}));
  const read = (cell: string) => (cell.includes("-") ? cell : Number(cell.replace(",", "")));
  expect(rows.map((row) => row.map(read))).toEqual(totals.map((total) => Object.values(total)));
  expect(rows).toHaveLength(12);
  await page.locator(".item-open", { hasText: "$list_orders" }).getByText("5,000").waitFor();

  const mark = answer.getByRole("button", { name: "From $monthly_totals_1" });
  const card = await cardOf(page, mark);
  await card.getByRole("button", { name: "Open $monthly_totals_1" }).click();
  const table = page.getByRole("table", { name: "$monthly_totals_1" });
  await table.getByText(String(totals[11]?.["month"]), { exact: true }).waitFor();
  const panel = page.getByRole("tabpanel", { name: "Variables" });
  await panel.getByRole("button", { name: "Chart", exact: true }).click();
  const drawn = page.getByRole("group", { name: /of \$monthly_totals_1 by month/ });
  await drawn.waitFor();
  expect(await page.locator(".chart-line, .chart-bars").first().getAttribute("d")).toMatch(/M/);
  await drawn.focus();
  await page.keyboard.press("End");
  expect(await page.locator(".chart-legend").innerText()).toContain(String(totals[11]?.["month"]));
});
