import type { Page } from "playwright-core";
import { expect } from "vitest";
import { ask, it } from "../support/page-test.ts";
import { listed, variablesPage } from "../support/variables-page.ts";

/** Console errors that React logs when a view throws; the tests check the visible page. */
const forgives = /TypeError|Failed to (?:load|fetch)|Unable to preload/;

const failure = (page: Page) => page.getByRole("alert").filter({ hasText: "This view failed." });

const reload = (page: Page) => failure(page).getByRole("button", { name: "Reload it" }).click();

it("a view that throws leaves the others usable, and recovers", async ({ open, demo }) => {
  const { page } = await variablesPage({ open, demo, forgives });
  const lists = /\/files$/;
  await page.route(lists, (route) => route.fulfill({ json: { files: [null] } }));
  await ask(page, "Hello");
  await failure(page).waitFor();
  await page.getByRole("button", { name: "Answer again" }).waitFor();
  expect(await failure(page).count()).toBe(1);
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("region", { name: "Events" }).waitFor();
  expect(await failure(page).count()).toBe(0);
  await page.getByRole("tab", { name: /Variables/ }).click();
  await failure(page).waitFor();
  await page.unroute(lists);
  await page.getByLabel("Message", { exact: true }).fill("A draft");
  await reload(page);
  await listed(page, "first").waitFor();
  expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("A draft");
});

it("a view whose code is no longer on the server reloads the page", async ({ open, demo }) => {
  const { page, variables } = await variablesPage({ open, demo, forgives });
  await variables.put("sizes", [{ size: 1 }, { size: 2 }]);
  await page.route(/\/chart-[^/]+\.js/, (route) => route.abort());
  const chart = page.getByRole("button", { name: "Chart" });
  await listed(page, "sizes").click();
  await chart.click();
  await reload(page);
  await chart.click();
  await page.unroute(/\/chart-[^/]+\.js/);
  await reload(page);
  await listed(page, "sizes").click();
  await chart.click();
  await page.getByRole("group", { name: /^size of \$sizes/ }).waitFor();
});
