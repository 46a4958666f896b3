import chromium from "@sparticuz/chromium";
import { type Browser, chromium as playwright, type Page } from "playwright-core";

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: "light" | "dark";
  /** Of the screen's pixels to those of CSS. Default: 1. */
  readonly scale?: number;
}

export interface BrowserPage {
  readonly page: Page;
  /** What the page has complained about: errors that were thrown, and what was said to the console. */
  readonly complaints: readonly string[];
  /** Every address that it has asked for. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

export interface TestBrowser {
  /** A page with a profile of its own, at the URL. */
  open(url: string, options?: PageOptions): Promise<BrowserPage>;
  close(): Promise<void>;
}

/** A real Chromium, from a package; it draws without a graphics card. */
export async function startBrowser(): Promise<TestBrowser> {
  const browser: Browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    // Not the arguments that its package has for other places: they turn off what guards a page.
    args: ["--no-sandbox", "--headless=shell"],
  });
  return {
    open: async (url, { width = 1_280, height = 800, theme = "light", scale = 1 } = {}) => {
      const context = await browser.newContext({
        viewport: { width, height },
        deviceScaleFactor: scale,
        colorScheme: theme,
        reducedMotion: "reduce",
        acceptDownloads: true,
      });
      const page = await context.newPage();
      const complaints: string[] = [];
      const asked: string[] = [];
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) complaints.push(message.text());
      });
      page.on("request", (request) => asked.push(request.url()));
      await page.goto(url);
      return { page, complaints, asked, close: () => context.close() };
    },
    close: () => browser.close(),
  };
}
