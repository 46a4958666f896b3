import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../src/client.ts";
import { ask, idIn, it, type OpenOptions } from "../support/page-test.ts";

interface Opening extends OpenOptions {
  readonly open: (url: string, options?: OpenOptions) => Promise<Page>;
  readonly demo: { readonly url: string };
}

/** A page with one answered question of the orders agent. */
async function openAnswered({ open, demo, ...options }: Opening) {
  const page = await open(demo.url, options);
  await page.getByRole("button", { name: /monthly totals of my orders\?/ }).click();
  await page.getByRole("button", { name: "Answer again" }).waitFor();
  const heading = (name: string) => page.getByRole("heading", { level: 1, name });
  await heading("What are the monthly totals of my orders?").waitFor();
  const choose = async (name: string) => {
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  const list = page.getByRole("navigation", { name: "Conversations" });
  return { page, heading, choose, list };
}

describe("conversations as a whole", () => {
  it("are renamed, where the title stands and in the list", async ({ open, demo }) => {
    const { page, list, heading } = await openAnswered({ open, demo });
    const own = list.locator(`[href="#/c/${idIn(page)}"]`);
    await page.getByRole("button", { name: "What are the monthly totals" }).click();
    await page.getByLabel("Title").fill("Totals of 2025");
    await page.keyboard.press("Enter");
    await heading("Totals of 2025").waitFor();
    await own.getByText("Totals of 2025").waitFor();
    expect(await page.title()).toBe("Totals of 2025 · Byref");

    await page.getByRole("button", { name: "Totals of 2025" }).first().click();
    await page.getByLabel("Title").fill("Something else");
    await page.keyboard.press("Escape");
    await heading("Totals of 2025").waitFor();
    await page.reload();
    await heading("Totals of 2025").waitFor();
  });

  it("are forked and deleted, and each keeps its agent", async ({ open, demo }) => {
    const { page, list, choose } = await openAnswered({ open, demo, forgives: /404|410/ });
    const address = page.url();
    const original = createClient(demo.url).conversation(idIn(page));
    await choose("Fork");
    await page.waitForURL((url) => url.href !== address);
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    await page.getByRole("tab", { name: "Variables 2" }).waitFor();
    const copy = createClient(demo.url).conversation(idIn(page));
    const fork = list.locator(`[href="${new URL(page.url()).hash}"]`);
    await fork.waitFor();
    await page.getByLabel("Agent").selectOption("weather");
    await ask(page, "What is the weather in NYC?");
    await page.getByRole("tab", { name: "Variables 3" }).waitFor();
    await page.getByRole("button", { name: "Answer again" }).nth(1).waitFor();
    // What happens in the copy is none of the original's business.
    expect((await original.messages()).messages).toHaveLength(2);
    expect((await original.variables.list()).variables).toHaveLength(2);

    await choose("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "New conversation" }).waitFor();
    await fork.waitFor({ state: "detached" });
    expect(await copy.messages()).toEqual({ messages: [] });
    expect((await copy.variables.list()).variables).toEqual([]);
    await page.goto(address);
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    expect(await page.getByLabel("Agent").inputValue()).toBe("orders");
  });

  it("are exported, and imported as they were", async ({ open, demo }) => {
    const { page, choose, list } = await openAnswered({ open, demo, forgives: /4\d\d/ });
    const address = page.url();
    const original = createClient(demo.url).conversation(idIn(page));
    const started = page.waitForEvent("download");
    await choose("Export");
    const path = await (await started).path();
    expect(readFileSync(path, "utf8")).toContain("monthly_totals_1");
    await page.getByLabel("Import a conversation").setInputFiles(path);
    await page.waitForURL((url) => url.href !== address);
    await page.getByRole("tab", { name: "Variables 2" }).waitFor();
    await page.getByText("Here are the monthly totals:").waitFor();
    const imported = createClient(demo.url).conversation(idIn(page));
    const kept = (await original.variables.list()).variables.map((info) => info.name);
    expect(kept).toHaveLength(2);
    for (const name of kept) {
      expect(await imported.variables.get(name)).toEqual(await original.variables.get(name));
    }

    const broken = { name: "broken.ndjson", mimeType: "application/x-ndjson" };
    await page
      .getByLabel("Import a conversation")
      .setInputFiles({ ...broken, buffer: Buffer.from("{}\n") });
    await page.getByRole("alert").getByRole("button", { name: "Close" }).click();

    await list.getByRole("button", { name: "New conversation" }).click();
    await page.getByRole("heading", { name: "Tools return variables." }).waitFor();
  });

  it("are answered by the agent that is chosen", async ({ open, demo }) => {
    const page = await open(demo.url);
    await page.getByRole("button", { name: /Compare the weather/ }).waitFor();
    await page.getByLabel("Agent").selectOption("orders");
    await ask(page, "What is the weather in NYC?");
    await page.getByText("I cannot do that here").waitFor();
    await page.getByLabel("Agent").selectOption("weather");
    await ask(page, "What is the weather in NYC?");
    await page.getByText(/It is .* °C in (NYC|New York)/).waitFor();
    await page.getByRole("button", { name: "Answer again" }).nth(1).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Answer again" }).nth(1).waitFor();
    expect(await page.getByLabel("Agent").inputValue()).toBe("weather");
  });
});
