/**
 * Takes the screenshots of the page for the README, and records an animation: `npm run screenshots`, or `-- NAME …`
 * for some of them. Uses a Worker with fresh state and the demo model, and drives a real Chromium.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type PageOptions, startBrowser } from "../test/support/browser.ts";
import { createClient } from "../packages/client/src/client.ts";
import { animatedWebp, type Frame } from "./animated-webp.ts";
import { startDemoWorker } from "./local-worker.ts";

/** Maximum size of a picture in a README. */
const MAX_BYTES = 200_000;
/** Maximum size of the animation, which the README shows first. */
const MAX_MOVING_BYTES = 1_000_000;
const QUALITY = 88;
const MOVING_QUALITY = 70;
/** Name of the animation. */
const MOVING = "answering";

/** States that the animation shows after the answer, with their durations. */
const scenes: readonly { readonly milliseconds: number; readonly pose: Picture["pose"] }[] = [
  { milliseconds: 2_500, pose: async () => undefined },
  { milliseconds: 3_000, pose: (page) => showReferences(page).click() },
  { milliseconds: 3_000, pose: showMonthlyCall },
  { milliseconds: 3_000, pose: showChart },
  { milliseconds: 2_000, pose: openOrders },
  { milliseconds: 400, pose: (page) => scrollOrders(page, 400) },
  { milliseconds: 400, pose: (page) => scrollOrders(page, 4_000) },
  { milliseconds: 2_000, pose: (page) => scrollOrders(page, 40_000) },
  { milliseconds: 4_000, pose: (page) => page.getByRole("tab", { name: "Meter" }).click() },
];

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

const phone = { width: 390, height: 844 };

const pictures: readonly Picture[] = [
  { name: "first-run", pose: (page) => example(page, "Compare the weather").waitFor() },
  { name: "weather", pose: showWeather },
  { name: "monthly-totals", options: { height: 860 }, pose: showTotals },
  { name: "table", options: { width: 1_600 }, pose: showTable },
  { name: "plan", pose: showPlan },
  { name: "meter", pose: showMeter },
  { name: "approval", options: { height: 860 }, pose: showApproval },
  { name: "receipt", keepsFocus: true, pose: showReceipt },
  { name: "waterfall", pose: showWaterfall },
  { name: "phone", options: phone, pose: showTotals },
  { name: "dark", options: { theme: "dark" }, pose: showPlan },
];

const folder = join(import.meta.dirname, "../docs/images");
mkdirSync(folder, { recursive: true });
const browser = await startBrowser();
const worker = await startDemoWorker();
const chosen = new Set(process.argv.slice(2));
const isChosen = (name: string) => chosen.size === 0 || chosen.has(name);
try {
  for (const picture of pictures) if (isChosen(picture.name)) await take(picture);
  if (isChosen(MOVING)) await record();
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
  save(name, await screenshot(page, QUALITY), MAX_BYTES);
  // Each picture shows a first conversation.
  const id = new URL(page.url()).hash.replace("#/c/", "");
  await close();
  if (id !== "") await createClient(worker.url).conversation(id).delete();
}

async function screenshot(page: Page, quality: number): Promise<Buffer> {
  const devTools = await page.context().newCDPSession(page);
  const { data } = await devTools.send("Page.captureScreenshot", { format: "webp", quality });
  await devTools.detach();
  return Buffer.from(data, "base64");
}

function save(name: string, bytes: Buffer, maxBytes: number): void {
  writeFileSync(join(folder, `${name}.webp`), bytes);
  console.log(`${name}.webp ${bytes.length} bytes`);
  if (bytes.length > maxBytes) throw new Error(`${name}.webp is too large for a README.`);
}

/**
 * Records the page while it answers over 5,000 orders, as screenshots. While it answers, frames follow each
 * other as fast as they can be taken and last as long as that took; the others stay until they can be read.
 */
async function record(): Promise<void> {
  const { page, complaints, close } = await browser.open(worker.url, { height: 860 });
  const frames: Frame[] = [];
  const hold = async (milliseconds: number) => {
    frames.push({ image: await screenshot(page, MOVING_QUALITY), milliseconds });
  };
  await example(page, "monthly totals of my orders?").hover();
  await page.waitForTimeout(SETTLE_MS);
  await hold(1_500);
  await example(page, "monthly totals of my orders?").click();
  await page.mouse.move(0, 0);
  await whileAnswering(page, frames);
  for (const { pose, milliseconds } of scenes) {
    await pose(page);
    await page.waitForTimeout(SETTLE_MS);
    await hold(milliseconds);
  }
  if (complaints.length > 0) throw new Error(`${MOVING}: ${complaints.join("\n")}`);
  await close();
  save(MOVING, animatedWebp(frames), MAX_MOVING_BYTES);
}

async function whileAnswering(page: Page, frames: Frame[]): Promise<void> {
  const done = page.getByRole("button", { name: "Answer again" });
  while (!(await done.isVisible())) {
    const start = performance.now();
    const image = await screenshot(page, MOVING_QUALITY);
    frames.push({ image, milliseconds: Math.round(performance.now() - start) });
  }
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

async function showWeather(page: Page): Promise<void> {
  await ask(page, "Compare the weather");
  await page.getByRole("button", { name: /^compare_weather/ }).click();
  await page.getByLabel("city1, as the tool received it").waitFor();
}

function showReferences(page: Page) {
  return page.getByRole("switch", { name: "Show references" });
}

async function showMonthlyCall(page: Page): Promise<void> {
  await showReferences(page).click();
  await page.getByRole("button", { name: /^monthly_totals/ }).click();
  await page.getByLabel("orders, as the tool received it").waitFor();
}

async function showTotals(page: Page): Promise<void> {
  await ask(page, "monthly totals of my orders?");
  await showChart(page);
}

async function showChart(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Chart" }).click();
  await page.getByRole("group", { name: /^total of / }).waitFor();
}

async function scrollOrders(page: Page, pixels: number): Promise<void> {
  await page.getByRole("table", { name: "$list_orders_1" }).hover();
  await page.mouse.wheel(0, pixels);
}

async function showTable(page: Page): Promise<void> {
  await ask(page, "monthly totals of my orders?");
  await openOrders(page);
}

async function openOrders(page: Page): Promise<void> {
  await page.locator(".variables-open", { hasText: "list_orders_1" }).click();
  await page.getByRole("table", { name: "$list_orders_1" }).getByText("ord_00005").waitFor();
}

async function showPlan(page: Page): Promise<void> {
  await ask(page, "Make a plan");
  const plans = page.getByRole("tabpanel", { name: "Plans" });
  await plans.getByRole("button", { name: "Approve" }).click();
  await plans.getByRole("button", { name: "Run", exact: true }).click();
  await plans.getByRole("button", { name: "Run again" }).waitFor();
  await plans.getByRole("button", { name: /^write_report/ }).click();
}

async function showMeter(page: Page): Promise<void> {
  await ask(page, "monthly totals of my orders?");
  await page.getByRole("tab", { name: "Meter" }).click();
}

async function showApproval(page: Page): Promise<void> {
  await example(page, "Refund order ord_00009").click();
  await page.getByText("1 approval needed").first().waitFor();
}

async function showReceipt(page: Page): Promise<void> {
  await ask(page, "Compare the weather");
  await page.getByRole("switch", { name: "Mark typed figures" }).click();
  await page.locator(".reference-inline, .reference-tag").first().focus();
  await page.getByRole("group", { name: "Variable" }).waitFor();
}

async function showWaterfall(page: Page): Promise<void> {
  await ask(page, "monthly totals of my orders?");
  await page.getByRole("button", { name: "Look inside" }).click();
  await page.getByRole("region", { name: "Waterfall" }).waitFor();
}
