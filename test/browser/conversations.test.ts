import { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

/** A page with one answered question of the orders agent. */
async function openAnswered() {
  const one = await browser.open(server.url);
  await one.page.getByRole("button", { name: /monthly totals of my orders\?/ }).click();
  await one.page.getByRole("button", { name: "Answer again" }).waitFor();
  const heading = (name: string) => one.page.getByRole("heading", { level: 1, name });
  await heading("What are the monthly totals of my orders?").waitFor();
  const choose = async (name: string) => {
    await one.page.getByRole("button", { name: "More" }).click();
    await one.page.getByRole("menuitem", { name }).click();
  };
  const list = one.page.getByRole("navigation", { name: "Conversations" });
  return { ...one, heading, choose, list };
}

describe("conversations as a whole", () => {
  it("are renamed, where the title stands and in the list", async () => {
    const { page, list, heading, close } = await openAnswered();
    await page.getByRole("button", { name: "What are the monthly totals" }).click();
    await page.getByLabel("Title").fill("Totals of 2025");
    await page.keyboard.press("Enter");
    await heading("Totals of 2025").waitFor();
    await list.getByRole("link", { name: "Totals of 2025" }).waitFor();
    expect(await page.title()).toBe("Totals of 2025 · Byref");

    await page.getByRole("button", { name: "Totals of 2025" }).click();
    await page.getByLabel("Title").fill("Something else");
    await page.keyboard.press("Escape");
    await heading("Totals of 2025").waitFor();
    await close();
  });

  it("are forked and deleted, and each keeps its agent", async () => {
    const { page, list, choose, close } = await openAnswered();
    const address = page.url();
    await choose("Fork");
    await page.waitForURL((url) => url.href !== address);
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    const fork = list.locator(`[href="${new URL(page.url()).hash}"]`);
    await fork.waitFor();
    await page.getByLabel("Agent").selectOption("weather");

    await choose("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "New conversation" }).waitFor();
    await fork.waitFor({ state: "detached" });
    await page.goto(address);
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    expect(await page.getByLabel("Agent").inputValue()).toBe("orders");
    await close();
  });

  it("are exported, and imported as they were", async () => {
    const { page, choose, list, complaints, close } = await openAnswered();
    const address = page.url();
    const started = page.waitForEvent("download");
    await choose("Export");
    const path = await (await started).path();
    expect(readFileSync(path, "utf8")).toContain("monthly_totals_1");
    await page.getByLabel("Import a conversation").setInputFiles(path);
    await page.waitForURL((url) => url.href !== address);
    await page.getByRole("tab", { name: "Variables 2" }).waitFor();
    await page.getByText("Here are the monthly totals:").waitFor();

    const broken = { name: "broken.ndjson", mimeType: "application/x-ndjson" };
    await page
      .getByLabel("Import a conversation")
      .setInputFiles({ ...broken, buffer: Buffer.from("{}\n") });
    await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
    expect(complaints).toEqual([expect.stringContaining("Failed to load resource")]);

    await list.getByRole("button", { name: "New conversation" }).click();
    await page.getByRole("heading", { name: "Tools return variables." }).waitFor();
    await close();
  });
});
