import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtOnce } from "../../scripts/built.ts";
import {
  type Browser,
  type BrowserContext,
  chromium as playwright,
  type Page,
} from "playwright-core";

const EXTRACT = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();";

/**
 * Returns the path of the Chromium in `@sparticuz/chromium`. The package extracts to the temporary folder and
 * reuses a file of the same name from any version. The extraction therefore runs in a process with an empty
 * temporary folder, once for each version.
 */
async function chromiumPath(): Promise<string> {
  const manifest = "node_modules/@sparticuz/chromium/package.json";
  const folder = await builtOnce("chromium", [manifest], async (empty) => {
    const program = ["--input-type=module", "--eval", EXTRACT];
    const env = { ...process.env, TMPDIR: empty };
    await promisify(execFile)(process.execPath, program, { cwd: import.meta.dirname, env });
  });
  return join(folder, "chromium");
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: "light" | "dark";
  /** Device pixels per CSS pixel. Default: 1. */
  readonly scale?: number;
  /** True for a touch screen. */
  readonly touch?: boolean;
  /** Opens another tab with the same profile. */
  readonly beside?: Page;
}

export type BrowserPage = Awaited<ReturnType<Awaited<ReturnType<typeof startBrowser>>["open"]>>;

/** A real Chromium from an npm package, with software rendering. */
export async function startBrowser() {
  const browser: Browser = await playwright.launch({
    executablePath: await chromiumPath(),
    // Without the package's default arguments, because they turn off protections of the page.
    args: ["--no-sandbox", "--headless=shell"],
  });
  return {
    /** Opens a page, with a new profile unless it is beside another page. */
    open: async (url: string, options: PageOptions = {}) => {
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
      // Thrown errors, warnings and errors on the console, and all requested URLs.
      return { page, complaints, asked, close };
    },
    stop: () => browser.close(),
  };
}

/** Playwright gives up after half a minute, which is a limit of speed. */
const STUCK_MS = 5 * 60_000;

async function newProfile(browser: Browser, options: PageOptions): Promise<BrowserContext> {
  const { width = 1_280, height = 800, theme = "light", touch = false, scale = 1 } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: theme,
    hasTouch: touch,
    isMobile: touch,
    reducedMotion: "reduce",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  context.setDefaultTimeout(STUCK_MS);
  return context;
}
