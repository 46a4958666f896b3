import type { Locator, Page } from "playwright-core";
import { expect, test, vi } from "vitest";
import { type BrowserPage, type PageOptions, startBrowser } from "./browser.ts";
import { startScriptedPage } from "./scripted-page.ts";
import { startServer } from "./server.ts";

/** The key of the server with authentication. */
export const KEY = "a-key-of-the-tests-0123456789";

const GUARDED = { AUTH: "bearer", API_KEYS: JSON.stringify({ [KEY]: "acme" }) };

export interface OpenOptions extends PageOptions {
  /** What the page may complain about: refusals that belong to the test. */
  readonly forgives?: RegExp;
}

interface Cleaning {
  readonly onCleanup: (stop: () => Promise<void>) => void;
}

/** Started when the first test asks for it, stopped after the last one. */
function shared<Thing>(start: () => Promise<Thing & { stop(): Promise<unknown> }>) {
  // Vitest reads from the pattern what it needs.
  // oxlint-disable-next-line no-empty-pattern
  return async ({}, { onCleanup }: Cleaning): Promise<Thing> => {
    const thing = await start();
    onCleanup(async () => {
      await thing.stop();
    });
    return thing;
  };
}

const forAll = { scope: "worker" } as const;

/**
 * A test of the page. One Chromium and one server of a kind serve all files. No page complains, and none
 * asks another host for anything.
 */
export const it = test
  .extend("chromium", forAll, shared(startBrowser))
  .extend(
    "demo",
    forAll,
    shared(() => startServer()),
  )
  .extend("scripted", forAll, shared(startScriptedPage))
  .extend(
    "guarded",
    forAll,
    shared(() => startServer(GUARDED)),
  )
  .extend("open", async ({ chromium }, { onCleanup }) => {
    const opened: (BrowserPage & { readonly forgives: RegExp | undefined })[] = [];
    onCleanup(async () => {
      // The last opened first: it may stand beside another.
      for (const { close } of opened.toReversed()) await close();
      for (const { complaints, asked, forgives, page } of opened) {
        expect(complaints.filter((text) => forgives?.test(text) !== true)).toEqual([]);
        const { origin } = new URL(page.url());
        expect(asked.filter((url) => !isOf(origin, url))).toEqual([]);
      }
    });
    return async (url: string, { forgives, ...options }: OpenOptions = {}): Promise<Page> => {
      const one = await chromium.open(url, options);
      opened.push({ ...one, forgives });
      return one.page;
    };
  });

function isOf(origin: string, url: string): boolean {
  return /^(?:blob|data):/.test(url) || new URL(url.replace(/^ws/, "http")).origin === origin;
}

/** Of the conversation that a page shows. */
export function idIn(page: Page): string {
  return new URL(page.url()).hash.replace("#/c/", "");
}

/** Until it holds; how long that takes is no matter. */
export function eventually(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 45_000, interval: 50 });
}

const FRAMES = `new Promise((done) => {
  const later = (count) => (count === 0 ? done() : requestAnimationFrame(() => later(count - 1)));
  later(4);
})`;

/** What a mark in an answer says of its value, once it is focused. */
export async function cardOf(page: Page, mark: Locator): Promise<Locator> {
  const card = page.getByRole("group", { name: "Variable" });
  // A scroll closes it: the end of an answer may scroll, and so may the focus itself.
  await eventually(async () => {
    await mark.blur();
    await mark.focus();
    await page.evaluate(FRAMES);
    expect(await card.isVisible()).toBe(true);
  });
  return card;
}

export async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(question);
  // The last answer may have been read before its turn was over; until then there is nothing to send with.
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
  await page.keyboard.press("Enter");
}
