/**
 * Takes the screenshots of the page for the README: `npm run screenshots`, or `-- NAME …` for some of them. Uses a
 * server with fresh state and the demo model, and drives a real Chromium. Each picture shows a first conversation.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type PageOptions, startBrowser } from "../test/support/browser.ts";
import { startWorkerServer } from "../test/support/worker-server.ts";
import { ensurePage } from "./page.ts";

/** Maximum size of a picture in a README. */
const MAX_BYTES = 200_000;
const TOTALS = "monthly totals of my orders?";
/** Lists appear shortly after their contents change. */
const SETTLE_MS = 800;

/** Brings the page into the state of the picture. */
const pictures: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  weather: async (page) => {
    await ask(page, "Compare the weather");
    await page.getByRole("button", { name: /^compare_weather/ }).click();
    await page.getByLabel("city1, as the tool received it").waitFor();
  },
  "monthly-totals": showTotals,
  table: async (page) => {
    await ask(page, TOTALS);
    await page.locator(".item-open", { hasText: "list_orders_1" }).click();
    await page.getByRole("table", { name: "$list_orders_1" }).getByText("ord_00005").waitFor();
  },
  plan: showPlan,
  meter: async (page) => {
    await ask(page, TOTALS);
    await page.getByRole("tab", { name: "Meter" }).click();
  },
  approval: async (page) => {
    await page.getByRole("button", { name: "Refund order ord_00009" }).click();
    await page.getByText("1 approval needed").first().waitFor();
  },
  receipt: async (page) => {
    await ask(page, "Compare the weather");
    await page.getByRole("switch", { name: "Mark typed figures" }).click();
    await page.locator(".reference-inline, .reference-tag").first().focus();
    await page.getByRole("group", { name: "Variable" }).waitFor();
  },
  waterfall: async (page) => {
    await ask(page, TOTALS);
    await page.getByRole("button", { name: "Look inside" }).click();
    await page.getByRole("region", { name: "Waterfall" }).waitFor();
  },
  phone: (page) => ask(page, TOTALS),
  dark: showPlan,
};
const options: Readonly<Record<string, PageOptions>> = {
  "monthly-totals": { height: 1_240 },
  table: { width: 1_600 },
  approval: { height: 860 },
  phone: { width: 390, height: 844 },
  dark: { theme: "dark" },
};

await ensurePage();
const browser = await startBrowser();
const chosen = process.argv.slice(2);
try {
  for (const [name, pose] of Object.entries(pictures)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    const worker = await startWorkerServer({ MODEL: "demo" });
    const { page, complaints } = await browser.open(worker.url, { scale: 2, ...options[name] });
    await pose(page);
    await page.mouse.move(0, 0);
    // The receipt's card is open while its reference has the focus.
    if (name !== "receipt") await page.evaluate("document.activeElement?.blur()");
    await page.waitForTimeout(SETTLE_MS);
    if (complaints.length > 0) throw new Error(`${name}: ${complaints.join("\n")}`);
    const devTools = await page.context().newCDPSession(page);
    const image = { format: "webp", quality: 88 } as const;
    const { data } = await devTools.send("Page.captureScreenshot", image);
    const bytes = Buffer.from(data, "base64");
    writeFileSync(join(import.meta.dirname, `../docs/images/${name}.webp`), bytes);
    if (bytes.length > MAX_BYTES) throw new Error(`${name}.webp is too large for a README.`);
    await worker.stop();
  }
} finally {
  await browser.stop();
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByRole("button", { name: question }).click();
  await page.getByRole("button", { name: "Answer again" }).waitFor();
  // Waits until the answer's values are marked.
  await page.waitForTimeout(SETTLE_MS);
}

async function showTotals(page: Page): Promise<void> {
  await ask(page, TOTALS);
  await page.getByRole("button", { name: "Chart" }).click();
  await page.getByRole("group", { name: /^total of / }).waitFor();
  await page.getByRole("button", { name: "See what the model wrote" }).scrollIntoViewIfNeeded();
}

async function showPlan(page: Page): Promise<void> {
  await ask(page, "Make a plan");
  const plans = page.getByRole("tabpanel", { name: "Plans" });
  await plans.getByRole("button", { name: "Approve" }).click();
  await plans.getByRole("button", { name: "Run", exact: true }).click();
  await plans.getByRole("button", { name: "Run again" }).waitFor();
  await plans.getByRole("button", { name: /^write_report/ }).click();
}
