/**
 * Takes the screenshots of the page for the README: `npm run screenshots`, or `-- NAME …` for some of them. Uses a
 * server with fresh state and the demo model, and drives a real Chromium.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type PageOptions, startBrowser } from "../test/support/browser.ts";
import { createClient } from "../packages/client/src/client.ts";
import { startDemoServer } from "./local-server.ts";

/** Maximum size of a picture in a README. */
const MAX_BYTES = 200_000;
const QUALITY = 88;
const TOTALS = "monthly totals of my orders?";

/** Lists appear shortly after their contents change. */
const SETTLE_MS = 800;

interface Picture {
  readonly name: string;
  readonly options?: PageOptions;
  /** True if the picture shows the effect of a focused element, such as an open card. */
  readonly keepsFocus?: true;
  /** Brings the page into the state of the picture. */
  readonly pose: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  {
    name: "weather",
    pose: async (page) => {
      await ask(page, "Compare the weather");
      await page.getByRole("button", { name: /^compare_weather/ }).click();
      await page.getByLabel("city1, as the tool received it").waitFor();
    },
  },
  { name: "monthly-totals", options: { height: 860 }, pose: showTotals },
  {
    name: "table",
    options: { width: 1_600 },
    pose: async (page) => {
      await ask(page, TOTALS);
      await page.locator(".variables-open", { hasText: "list_orders_1" }).click();
      await page.getByRole("table", { name: "$list_orders_1" }).getByText("ord_00005").waitFor();
    },
  },
  { name: "plan", pose: showPlan },
  {
    name: "meter",
    pose: async (page) => {
      await ask(page, TOTALS);
      await page.getByRole("tab", { name: "Meter" }).click();
    },
  },
  {
    name: "approval",
    options: { height: 860 },
    pose: async (page) => {
      await example(page, "Refund order ord_00009").click();
      await page.getByText("1 approval needed").first().waitFor();
    },
  },
  {
    name: "receipt",
    keepsFocus: true,
    pose: async (page) => {
      await ask(page, "Compare the weather");
      await page.getByRole("switch", { name: "Mark typed figures" }).click();
      await page.locator(".reference-inline, .reference-tag").first().focus();
      await page.getByRole("group", { name: "Variable" }).waitFor();
    },
  },
  {
    name: "waterfall",
    pose: async (page) => {
      await ask(page, TOTALS);
      await page.getByRole("button", { name: "Look inside" }).click();
      await page.getByRole("region", { name: "Waterfall" }).waitFor();
    },
  },
  { name: "phone", options: { width: 390, height: 844 }, pose: showTotals },
  { name: "dark", options: { theme: "dark" }, pose: showPlan },
];

const folder = join(import.meta.dirname, "../docs/images");
mkdirSync(folder, { recursive: true });
const browser = await startBrowser();
const worker = await startDemoServer();
const chosen = new Set(process.argv.slice(2));
try {
  for (const picture of pictures) {
    if (chosen.size === 0 || chosen.has(picture.name)) await take(picture);
  }
} finally {
  await browser.stop();
  await worker.stop();
}

async function take({ name, options, pose, keepsFocus }: Picture): Promise<void> {
  const { page, complaints, close } = await browser.open(worker.url, { scale: 2, ...options });
  await pose(page);
  await page.mouse.move(0, 0);
  if (keepsFocus !== true) await page.evaluate("document.activeElement?.blur()");
  await page.waitForTimeout(SETTLE_MS);
  if (complaints.length > 0) throw new Error(`${name}: ${complaints.join("\n")}`);
  const devTools = await page.context().newCDPSession(page);
  const { data } = await devTools.send("Page.captureScreenshot", {
    format: "webp",
    quality: QUALITY,
  });
  const bytes = Buffer.from(data, "base64");
  writeFileSync(join(folder, `${name}.webp`), bytes);
  console.log(`${name}.webp ${bytes.length} bytes`);
  if (bytes.length > MAX_BYTES) throw new Error(`${name}.webp is too large for a README.`);
  // Each picture shows a first conversation.
  const id = new URL(page.url()).hash.replace("#/c/", "");
  await close();
  if (id !== "") await createClient(worker.url).conversation(id).delete();
}

function example(page: Page, question: string) {
  return page.getByRole("button", { name: question });
}

async function ask(page: Page, question: string): Promise<void> {
  await example(page, question).click();
  await page.getByRole("button", { name: "Answer again" }).waitFor();
  // Waits until the answer's values are marked.
  await page.waitForTimeout(SETTLE_MS);
}

async function showTotals(page: Page): Promise<void> {
  await ask(page, TOTALS);
  await page.getByRole("button", { name: "Chart" }).click();
  await page.getByRole("group", { name: /^total of / }).waitFor();
}

async function showPlan(page: Page): Promise<void> {
  await ask(page, "Make a plan");
  const plans = page.getByRole("tabpanel", { name: "Plans" });
  await plans.getByRole("button", { name: "Approve" }).click();
  await plans.getByRole("button", { name: "Run", exact: true }).click();
  await plans.getByRole("button", { name: "Run again" }).waitFor();
  await plans.getByRole("button", { name: /^write_report/ }).click();
}
