import {
  type Browser,
  type BrowserContext,
  chromium as playwright,
  type Page,
} from "playwright-core";
import { chromiumPath } from "./chromium.ts";

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: "light" | "dark";
  /** Of the screen's pixels to those of CSS. Default: 1. */
  readonly scale?: number;
  /** With a finger instead of a pointer. */
  readonly touch?: boolean;
  /** Another tab of the same person. */
  readonly beside?: Page;
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
  /** A page at the URL, with a profile of its own unless it is beside another. */
  open(url: string, options?: PageOptions): Promise<BrowserPage>;
  stop(): Promise<void>;
}

/** A real Chromium, from a package; it draws without a graphics card. */
export async function startBrowser(): Promise<TestBrowser> {
  const browser: Browser = await playwright.launch({
    executablePath: await chromiumPath(),
    // Not the arguments that its package has for other places: they turn off what guards a page.
    args: ["--no-sandbox", "--headless=shell"],
  });
  return {
    open: async (url, options = {}) => {
      const context = options.beside?.context() ?? (await newProfile(browser, options));
      const page = await context.newPage();
      const complaints: string[] = [];
      const asked: string[] = [];
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) complaints.push(message.text());
      });
      page.on("request", (request) => asked.push(request.url()));
      page.on("websocket", (socket) => asked.push(socket.url()));
      await page.goto(url);
      const close = () => (options.beside === undefined ? context.close() : page.close());
      return { page, complaints, asked, close };
    },
    stop: () => browser.close(),
  };
}

function newProfile(browser: Browser, options: PageOptions): Promise<BrowserContext> {
  const { width = 1_280, height = 800, theme = "light", touch = false, scale = 1 } = options;
  return browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: theme,
    hasTouch: touch,
    isMobile: touch,
    reducedMotion: "reduce",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
  });
}
