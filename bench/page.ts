/**
 * Measures the page in the Chromium of the tests: `npm run bench -- page`. Times the first view, the first token of
 * the demo's orders and a table of 5,000 rows, and counts the frames per second while a table of 100,000 rows
 * scrolls. Chromium has no graphics card here, so a desktop draws more frames.
 */
import type { Page } from "playwright-core";
import { startDemoWorker } from "../scripts/local-worker.ts";
import { createClient } from "../src/client.ts";
import { startBrowser, type TestBrowser } from "../test/support/browser.ts";
import { plainRow, report } from "./results.ts";
import { isQuick } from "./sides.ts";
import { type Spread, spreadOf } from "./statistics.ts";

const SAMPLES = isQuick ? 3 : 9;
const SCROLL_MS = 2_000;
const DESK = { width: 1_280, height: 800 };

const browser = await startBrowser();
const worker = await startDemoWorker();
try {
  const views = await samples(() => firstView(browser));
  const tokens = await samples(() => firstToken(browser));
  const tables = await samples(() => table(browser, 5_000));
  const rates = await samples(() => scrolled(browser, 100_000));
  const row = (name: string, { median, low, high }: Spread, goal: number) =>
    plainRow({ name, value: median, low, high, unit: "ms" }, goal);
  const { median, low, high } = rates;
  report({
    rows: [
      row("page: first view", views, 400),
      row("page: first token", tokens, 300),
      row("page: table of 5,000 rows", tables, 200),
      // A goal is a maximum, and more frames are better.
      plainRow({
        name: "page: 100,000 rows, frames a second",
        value: median,
        low,
        high,
        unit: "/s",
      }),
    ],
  });
} finally {
  await browser.stop();
  await worker.stop();
}

async function samples(measure: () => Promise<number>): Promise<Spread> {
  // The first measurement finds nothing in the server's caches.
  await measure();
  const values: number[] = [];
  for (let count = 0; count < SAMPLES; count++) values.push(await measure());
  return spreadOf(values);
}

/** Time from the navigation to the first example that can be clicked, in a new profile. */
async function firstView({ open }: TestBrowser): Promise<number> {
  const { page, close } = await open("about:blank", DESK);
  await page.addInitScript(watchFor(".first-run-card"));
  await page.goto(worker.url);
  const ms = await seen(page);
  await close();
  return ms;
}

/** Time from the click on an example to the first call of a tool. */
async function firstToken({ open }: TestBrowser): Promise<number> {
  const { page, close } = await open(worker.url, DESK);
  await page.locator(".first-run-card").first().waitFor();
  await page.evaluate(watchFor(".message-answer .tool-card, .message-answer p", "click"));
  await page.locator(".first-run-card").first().click();
  const ms = await seen(page);
  await close();
  return ms;
}

/** Time from the click on a variable to its first rows. */
async function table({ open }: TestBrowser, count: number): Promise<number> {
  const { page, close } = await openRecords(open, count);
  await page.evaluate(watchFor(".variables-rows .variables-record", "click"));
  await page.locator(".variables-open").click();
  const ms = await seen(page);
  await close();
  return ms;
}

/** Frames per second while the table scrolls through all of its rows. */
async function scrolled({ open }: TestBrowser, count: number): Promise<number> {
  const { page, close } = await openRecords(open, count);
  await page.locator(".variables-open").click();
  await page.locator(".variables-rows .variables-record").first().waitFor();
  const frames = await page.evaluate<number>(`new Promise((done) => {
    const frame = document.querySelector(".variables-frame");
    const start = performance.now();
    let frames = 0;
    const draw = (now) => {
      frames++;
      const share = (now - start) / ${SCROLL_MS};
      frame.scrollTop = share * frame.scrollHeight;
      if (share < 1) requestAnimationFrame(draw);
      else done((frames * 1_000) / (now - start));
    };
    requestAnimationFrame(draw);
  })`);
  await close();
  return frames;
}

async function openRecords(open: TestBrowser["open"], count: number) {
  const id = crypto.randomUUID();
  const rows = Array.from({ length: count }, (_, at) => ({
    id: at,
    name: `row ${at}`,
    total: at * 7,
  }));
  await createClient(worker.url).conversation(id).variables.put("rows", rows);
  const opened = await open(`${worker.url}/#/c/${id}`, DESK);
  await opened.page.locator(".variables-open").waitFor();
  return opened;
}

/** Returns a script that records when the selector is first drawn, from the event or the navigation on. */
function watchFor(selector: string, after?: string): string {
  return `(() => {
    let start = 0;
    const look = (now) => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) requestAnimationFrame(look);
      else window.seenMs = performance.now() - start;
    };
    const begin = () => {
      start = ${after === undefined ? "0" : "performance.now()"};
      requestAnimationFrame(look);
    };
    ${after === undefined ? "begin();" : `document.addEventListener("${after}", begin, { capture: true, once: true });`}
  })()`;
}

/** Polls instead of `waitForFunction`, which the page's policy forbids. */
function seen(page: Page): Promise<number> {
  return page.evaluate<number>(`new Promise((done) => {
    const look = () => (window.seenMs === undefined ? setTimeout(look, 5) : done(window.seenMs));
    look();
  })`);
}
