import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import type { Json } from "../../src/value/json.ts";
import { barriersInBoth } from "../support/axe.ts";
import { askExample, eventually, idIn, it } from "../support/page-test.ts";
import { drop, listed, variablesPage } from "../support/variables-page.ts";

it("a dropped file may replace another, and reports invalid content", async ({ open, demo }) => {
  const { page, variables } = await variablesPage({ open, demo, forgives: /412|400/ });
  await variables.put("sales", 1);
  const text = "city,units\nOslo,3\nRome,4\n";
  await drop(page, [
    { name: "sales.csv", text },
    { name: "broken.json", text: "{" },
  ]);
  await page.getByText("$sales already exists.").waitFor();
  await page.locator(".variables-failed", { hasText: "JSON" }).waitFor();
  await page.getByRole("button", { name: "Keep both" }).click();
  await listed(page, "sales_000").waitFor();
  expect(await variables.get("sales_000")).toEqual([
    { city: "Oslo", units: 3 },
    { city: "Rome", units: 4 },
  ]);
  expect(await variables.get("sales")).toBe(1);
  await drop(page, [{ name: "sales.csv", text: "n\n7\n" }]);
  await page.getByRole("button", { name: "Replace it" }).click();
  await eventually(async () => expect(await variables.get("sales")).toEqual([{ n: 7 }]));
});

describe("a variable", () => {
  it("is found among many when older ones are loaded", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    const names = Array.from({ length: 100 }, (_, at) => `many_${at}`);
    await Promise.all(names.map((name) => variables.put(name, 1)));
    await page.getByText(/^The newest 60,/).waitFor();
    await listed(page, "first").waitFor({ state: "detached" });
    const older = page.getByRole("button", { name: "Show older ones" });
    await older.click();
    await page.getByText(/^101 variables,/).waitFor();
    await listed(page, "first").waitFor();
    expect(await older.count()).toBe(0);
  });

  it("with a secret value shows only its metadata", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("token", "abc", { visibility: "secret" });
    await listed(page, "token").click();
    const shown = page.getByRole("article", { name: "Variable token" });
    await shown.getByText("This value is secret. Only tools that list it receive it.").waitFor();
    await shown.getByText("3 characters").waitFor();
  });

  it("is deleted after a confirmation", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo, forgives: /404|410/ });
    await variables.put("old", 1);
    await listed(page, "old").click();
    const press = async (name: string) => {
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
    };
    await press("Cancel");
    expect(await variables.get("old")).toBe(1);
    await press("Delete");
    await listed(page, "first").waitFor();
    await listed(page, "old").waitFor({ state: "detached" });
    expect((await variables.list()).variables.map((info) => info.name)).toEqual(["first"]);
  });

  it("disappears when it expires, and says so before and after", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("goes", 1, { ttl: 60 });
    const row = page.getByRole("listitem").filter({ hasText: "$goes" });
    await row.getByText(/expires in \d+ s/).waitFor({ state: "attached" });
    await listed(page, "goes").click();
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Expires in").fill("1 s");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "All variables" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByRole("tab", { name: "Variables 1" }).waitFor();
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText(/\$goes removed \(expired\)/).waitFor();
  });
});

describe("an edited variable", () => {
  it("does not overwrite a newer version", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo, forgives: /412/ });
    await variables.put("quote", { price: 1 }, { pin: true, description: "Price" });
    await listed(page, "quote").click();
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
    expect(await variables.get("quote")).toEqual({ price: 2 });
    expect(await variables.info("quote")).toMatchObject({ pinned: true, description: "Price" });
    await edit('{"price": 3}');
    await variables.put("quote", { price: 9 });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("$quote has been changed since you opened it.").waitFor();
    expect(await variables.get("quote")).toEqual({ price: 9 });
    await page.getByRole("button", { name: "Overwrite it with mine" }).click();
    await field.waitFor({ state: "detached" });
    expect(await variables.get("quote")).toEqual({ price: 3 });
  });

  it("lists earlier versions with their changes, and restores one exactly", async ({
    open,
    demo,
  }) => {
    const { page, variables } = await variablesPage({ open, demo });
    const first = '{"id":12345678901234567,"total":1.50}';
    await variables.put("order", new Blob([first], { type: "application/json" }));
    await variables.put("order", { id: 1, total: 2 });
    await listed(page, "order").click();
    await page.getByText("Earlier versions").click();
    const changes = page.getByRole("group", { name: "Changes after version 1" });
    expect(await changes.innerText()).toContain('-"id":12345678901234567,');
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByText("version 3").waitFor();
    expect(await (await variables.open("order")).text()).toBe(first);
  });

  it("makes a stale value again, after it has shown the calls", async ({ open, demo }) => {
    const page = await open(demo.url);
    await askExample(page, "What are the monthly totals of my orders?");
    const { variables } = createClient(demo.url).conversation(idIn(page));
    const [totals, orders] = ["monthly_totals_1", "list_orders_1"] as const;
    const [first = null] = await variables.get<Json[]>(orders);
    await variables.put(orders, [first]);
    await page.getByText("stale", { exact: true }).waitFor();
    await listed(page, totals).click();
    await page.getByText(`$${orders} 1 (now 2)`).waitFor();
    await page.getByRole("button", { name: "Recompute…" }).click();
    await page.getByRole("listitem").filter({ hasText: "only reads" }).waitFor();
    await page.getByRole("button", { name: "Run these calls" }).click();
    await page.getByText("version 2,").waitFor();
    expect(await variables.get(totals, { path: "[1]" })).toMatchObject({ orders: 0 });
    expect(await page.getByRole("region", { name: "Stale" }).count()).toBe(0);
  });
});

const wide = Array.from({ length: 300 }, (_, at) => ({
  customer_id: 10_000 + at,
  year: 2_000 + (at % 30),
  ...Object.fromEntries(
    Array.from({ length: 18 }, (_, nth) => [`figure_${nth}`, at * 1_234 + nth]),
  ),
}));

it("a wide table opens over the chat, and closes with Escape", async ({ open, demo }) => {
  const { page, variables } = await variablesPage({ open, demo });
  await variables.put("wide", wide);
  await listed(page, "wide").click();
  const table = page.getByRole("table", { name: "$wide" });
  await table.getByText("10000", { exact: true }).waitFor();
  await page.getByLabel("Filter rows").fill("10299");
  const narrow = (await table.boundingBox())?.x ?? 0;
  expect(narrow).toBeGreaterThan(800);
  await page.getByRole("button", { name: "Open wide" }).click();
  const dialog = page.getByRole("dialog", { name: "$wide, wide" });
  await dialog.getByText("1 of 300 rows").waitFor();
  expect((await dialog.boundingBox())?.width).toBeGreaterThan(1_200);
  expect(await barriersInBoth(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await page.getByLabel("Filter rows").inputValue()).toBe("10299");
});
