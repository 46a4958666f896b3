import { afterAll, beforeAll, expect, it } from "vitest";
import { unstable_startWorker as startWorker } from "wrangler";
import { startBrowser } from "../../test/support/browser.ts";
import { type Shop, startShop } from "../agents-sdk/start-shop.ts";

let shop: Shop;
let browser: Awaited<ReturnType<typeof startBrowser>>;

beforeAll(async () => {
  [shop, browser] = await Promise.all([startShop(startWorker, "inspected.ts"), startBrowser()]);
});
afterAll(() => Promise.all([browser.stop(), shop.stop()]));

it("shows answers and approvals by reference to the stock hooks, and the same after a reload", async () => {
  const { page, complaints } = await browser.open(`${shop.origin}/#seen`);
  const ask = async (question: string) => {
    await page.getByLabel("Message").fill(question);
    await page.getByLabel("Message").press("Enter");
  };
  const shown = () => page.locator("body").innerText();

  await ask("Ship all orders.");
  await page.getByText(/^2037 orders are on their way, the last to \w+\.$/u).waitFor();
  expect(await page.getByLabel("ship_orders").innerText()).toContain('"$list_orders_1[*].id"');

  await ask("Cancel order 17.");
  await page.getByRole("button", { name: "Approve" }).waitFor();
  const call = page.getByLabel("cancel_order");
  expect(await call.innerText()).toContain('{"id":"$list_orders_1[17].id"}');
  expect(await call.innerText()).toContain('Input: {"id":"ord_00017"}');
  await page.reload();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("ord_00017 is cancelled.").waitFor();
  expect(shop.model.written.at(-1)).toBe("$cancel_order_ord_00017.cancelled is cancelled.");

  const answered = await shown();
  await page.reload();
  await page.getByText("ord_00017 is cancelled.").waitFor();
  expect(await shown()).toBe(answered);
  const names = await fetch(`${shop.origin}/agents/chat/seen/names`);
  expect(await names.json()).toEqual(["list_orders_1", "ship_orders_1", "cancel_order_ord_00017"]);
  expect(complaints).toEqual([]);
});
