import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth } from "../support/axe.ts";
import { ask, askExample, eventually, idIn, it } from "../support/page-test.ts";
import { listed, records, variablesPage } from "../support/variables-page.ts";

const ORDERS = /monthly totals of my orders\?/;
/** Pixels between the end of the messages and the composer, as a script. */
const BELOW = `(() => {
  const box = document.querySelector(".chat-scroll");
  return Math.round(box.scrollHeight - box.scrollTop - box.clientHeight);
})()`;

describe("the end of an answer", () => {
  it("stays in view when something arrives late, unless the person has scrolled up", async ({
    open,
    demo,
  }) => {
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
});

describe("the first answer that used a large value", () => {
  it("says which value went where, and what the model read and wrote of it", async ({
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

  it("has its title and a placeholder while it is loaded", async ({ open, demo }) => {
    const first = await open(demo.url);
    await askExample(first, ORDERS);
    const own = first.locator(`[href="#/c/${idIn(first)}"]`);
    await first.getByRole("button", { name: "New conversation" }).click();
    const held = Promise.withResolvers<void>();
    await first.route(/\/conversations\/[^/?]+(?:\/messages.*)?$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await own.click();
    await first.getByText("Loading the conversation").waitFor({ state: "attached" });
    expect(await first.getByRole("heading", { level: 1 }).innerText()).toMatch(ORDERS);
    held.resolve();
    await first.getByRole("article", { name: "Answer" }).waitFor();
  });
});

describe("a table", () => {
  it("has its errors in their box, and no old result below them", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo, forgives: /400/ });
    await variables.put("rows", records(3));
    await listed(page, "rows").click();
    const run = async (sql: string) => {
      await page.getByLabel("SQL query").fill(sql);
      await page.getByRole("button", { name: "Run query" }).click();
    };
    await run("SELECT name FROM rows WHERE id = 2");
    await page.getByRole("table", { name: "$result" }).getByText("row 2").waitFor();
    await run(`selct ${"id, ".repeat(60)} id FROM rows`);
    const problem = page.getByRole("alert");
    await problem.getByText("Did you mean SELECT?").waitFor();
    const overflow = (name: string) =>
      page.evaluate<number>(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("${name}"))`,
      );
    expect(await overflow(".variables-problem")).toBe(0);
    expect(await overflow(".side-panel")).toBe(0);
    expect(await page.getByRole("table", { name: "$result" }).count()).toBe(0);
    await page.getByRole("table", { name: "$rows" }).waitFor();
  });

  it("is filtered, sorted and counted as a whole, however large it is", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo, forgives: /404/ });
    const rows = records(10_000).map((row) => ({ ...row, isPaid: row.id % 5_000 === 1 }));
    await variables.put("large", rows);
    await listed(page, "large").click();
    const table = page.getByRole("table", { name: "$large" });
    await table.getByText("row 5", { exact: true }).waitFor();
    const filter = page.getByLabel("Filter rows");
    await filter.fill("row 999");
    await page.getByText("11 of 10,000 rows").waitFor();
    await table.getByText("row 9999", { exact: true }).waitFor();
    await filter.fill("row 5 5");
    await page.getByText("0 of 10,000 rows").waitFor();
    await filter.fill("true");
    await page.getByText("2 of 10,000 rows").waitFor();
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

  it("has one format for the numbers of a column, and copies them whole", async ({
    open,
    demo,
  }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("sums", [
      { month: "May", total: 103_269.6, average: 499.95499549954997 },
      { month: "June", total: 115_099.38, average: 12 },
    ]);
    await listed(page, "sums").click();
    const table = page.getByRole("table", { name: "$sums" });
    for (const text of ["103,269.60", "115,099.38", "499.95", "12.00"]) {
      await table.getByRole("cell", { name: text, exact: true }).waitFor();
    }
    await table.getByRole("cell", { name: "499.95", exact: true }).dblclick();
    await page.keyboard.press("ControlOrMeta+c");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("499.95499549954997");
  });
});

describe("a phone", () => {
  const phone = { width: 390, height: 844, touch: true } as const;

  it("has the approvals on their tab, whole words and two lines of the title", async ({
    open,
    demo,
  }) => {
    const page = await open(demo.url, phone);
    await page.getByRole("button", { name: /Refund order ord_00009/ }).tap();
    const tabs = page.getByRole("navigation", { name: "Views" });
    const count = await tabs.getByTitle("1 approval needed").boundingBox();
    const word = await tabs.getByText("Conversation", { exact: true }).boundingBox();
    expect((count?.y ?? 900) + (count?.height ?? 0)).toBeLessThan(word?.y ?? 0);
    const table = page.getByRole("table");
    const words = table.getByText("currency", { exact: true });
    const fields = await table.getByRole("textbox").all();
    expect(fields.length).toBeGreaterThan(1);
    for (const cell of [words, ...fields])
      expect((await cell.boundingBox())?.height).toBeLessThan(48);
    const title = "What the customers have ordered";
    await page.goto(demo.url);
    await ask(page, title);
    await page.getByRole("button", { name: title, exact: true }).waitFor();
    const button = `document.querySelector(".header-title button")`;
    expect(await page.evaluate(`${button}.scrollHeight - ${button}.clientHeight`)).toBeLessThan(3);
  });
});

describe("a file without a conversation", () => {
  it("invites to ask about it", async ({ open, demo }) => {
    const page = await open(demo.url);
    const buffer = Buffer.from("city,units\nOslo,3\nRome,4\n");
    const file = { name: "sales.csv", mimeType: "text/csv", buffer };
    await page.getByLabel("Files to attach").setInputFiles(file);
    const questions = page.getByRole("group", { name: "Follow-up questions" });
    await questions.getByText("What is the average units by city in $sales?").waitFor();
  });
});

describe("a small window", () => {
  it("keeps Import in view, fades messages out, and shows events in words", async ({
    open,
    demo,
  }) => {
    const page = await open(demo.url, { width: 1_120, height: 480 });
    const client = createClient(demo.url);
    for (let at = 0; at < 20; at++) await client.conversation(`small-${at}`).variables.put("a", 1);
    await page.reload();
    const list = page.getByRole("navigation", { name: "Conversations" });
    await list.getByRole("link").nth(15).waitFor();
    const box = await list.getByText("Import", { exact: true }).boundingBox();
    expect(box?.y).toBeLessThan(480);
    await askExample(page, ORDERS);
    const fade = `getComputedStyle(document.querySelector(".chat-foot"), "::before")`;
    const faded = await page.evaluate(`${fade}.height + ${fade}.backgroundImage`);
    expect(faded).toMatch(/^28px *linear-gradient\(rgba\(0, 0, 0, 0\)/);
    await listed(page, "monthly_totals_1").click();
    await page.getByRole("button", { name: "Run query" }).waitFor();
    const query = `getComputedStyle(document.querySelector(".variables-query button"))`;
    expect(await page.evaluate(`${query}.borderTopStyle`)).toBe("solid");
    await page.getByRole("tab", { name: "Events" }).click();
    const said = page.locator(".events-said").filter({ hasText: "Turn finished" });
    await said.waitFor();
    expect((await said.boundingBox())?.width).toBeGreaterThan(100);
  });
});
