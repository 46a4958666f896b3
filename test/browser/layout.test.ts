import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { barriersOn } from "../support/axe.ts";
import { startBrowser, type TestBrowser } from "../support/browser.ts";
import { type Server, startServer, temporaryFolder } from "../support/server.ts";

const stateDir = temporaryFolder();
let server: Server;
let browser: TestBrowser;

beforeAll(async () => {
  server = await startServer({ STATE_DIR: stateDir });
  browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

describe.each(["light", "dark"] as const)("the page, %s", (theme) => {
  it("has no barriers, at a desk", async () => {
    const { page, complaints, close } = await browser.open(server.url, { theme });
    await page.getByRole("button", { name: /monthly totals of my orders\?/ }).waitFor();
    expect(await barriersOn(page)).toEqual([]);
    await page.getByRole("button", { name: /monthly totals of my orders\?/ }).click();
    await page.getByRole("button", { name: "From $monthly_totals_1" }).focus();
    await page.getByRole("group", { name: "Variable" }).waitFor();
    expect(await barriersOn(page)).toEqual([]);
    await page.keyboard.press("Escape");
    const tables = () => page.getByRole("group", { name: "Table" }).count();
    expect(await tables()).toBe(1);
    await page.getByRole("button", { name: "Chart" }).press("Enter");
    const chart = page.getByRole("group", { name: /^total of \$monthly_totals_1 by month/ });
    await chart.waitFor();
    expect(await tables()).toBe(0);
    expect(await barriersOn(page)).toEqual([]);
    await page.getByRole("button", { name: /^monthly_totals/ }).click();
    await page.getByLabel("orders, as the tool received it").waitFor();
    for (const name of ["Plans", "Events", "Meter"]) {
      await page.getByRole("tab", { name }).click();
      expect(await barriersOn(page)).toEqual([]);
    }
    const meter = page.getByRole("region", { name: "Meter" });
    expect(await meter.innerText()).toMatch(/^0\.\d\d %\s+of the characters .* by value\s/);
    expect(complaints).toEqual([]);
    await close();
  });

  it("fits a phone, one thing at a time, the list in a drawer", async () => {
    const size = { width: 390, height: 844 };
    const { page, complaints, close } = await browser.open(server.url, { theme, ...size });
    await page.getByRole("button", { name: /Compare the weather/ }).click();
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    const views = page.getByRole("navigation", { name: "Views" });
    for (const name of ["Events", "Meter", "Plans", "Conversation"]) {
      await views.getByRole("button", { name }).click();
      expect(await barriersOn(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    }
    await page.getByRole("button", { name: "Conversations" }).click();
    const list = page.getByRole("navigation", { name: "Conversations" });
    await list
      .getByRole("link", { name: /Compare the weather/ })
      .first()
      .waitFor();
    expect(await barriersOn(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "hidden" });
    expect(complaints).toEqual([]);
    await close();
  });
});
