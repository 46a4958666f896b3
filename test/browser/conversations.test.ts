import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { askExample, eventually, idIn, it, type OpenOptions } from "../support/page-test.ts";

interface Opening extends OpenOptions {
  readonly open: (url: string, options?: OpenOptions) => Promise<Page>;
  readonly demo: { readonly url: string };
}

/** Opens a page with one answered question to the orders agent. */
async function openAnswered({ open, demo, ...options }: Opening) {
  const page = await open(demo.url, options);
  await askExample(page, /monthly totals of my orders\?/);
  const heading = (name: string) => page.getByRole("heading", { level: 1, name });
  await heading("What are the monthly totals of my orders?").waitFor();
  const choose = async (name: string) => {
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  const list = page.getByRole("navigation", { name: "Conversations" });
  return { page, heading, choose, list };
}

describe("conversations", () => {
  it("are exported, and imported unchanged", async ({ open, demo }) => {
    const { page, choose, list } = await openAnswered({ open, demo, forgives: /4\d\d/ });
    const address = page.url();
    const original = createClient(demo.url).conversation(idIn(page));
    const started = page.waitForEvent("download");
    await choose("Export");
    const path = await (await started).path();
    expect(readFileSync(path, "utf8")).toContain("monthly_totals_1");
    await page.getByLabel("Import", { exact: true }).setInputFiles(path);
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
      .getByLabel("Import", { exact: true })
      .setInputFiles({ ...broken, buffer: Buffer.from('{"type":"byref"}\n') });
    await page.getByRole("alert").getByRole("button", { name: "Close" }).click();

    await list.getByRole("button", { name: "New conversation" }).click();
    await page.getByRole("heading", { name: "Tools return variables." }).waitFor();
  });

  it("are found by their title, pinned, renamed, forked and deleted from the list", async ({
    open,
    demo,
  }) => {
    const word = `w${crypto.randomUUID().slice(0, 8)}`;
    const titles = ["first", "second"].map((name) => `${name} ${word}`);
    for (const title of titles) {
      const id = crypto.randomUUID();
      await createClient(demo.url).conversation(id).variables.put("x", 1);
      const body = JSON.stringify({ title });
      const headers = { "content-type": "application/json" };
      await fetch(`${demo.url}/conversations/${id}`, { method: "PATCH", headers, body });
    }
    const page = await open(demo.url, { forgives: /404|410/ });
    const list = page.getByRole("navigation", { name: "Conversations" });
    await list.getByLabel("Search conversations").fill(word.toUpperCase());
    const shown = async () =>
      (await list.locator(".conversations-title").allInnerTexts()).toSorted();
    const until = (expected: readonly string[]) =>
      eventually(async () => expect(await shown()).toEqual(expected));
    await until(titles);
    const row = (title: string) => list.getByRole("listitem").filter({ hasText: title });
    const choose = async (title: string, choice: string) => {
      await row(title).getByRole("button", { name: "Conversation options" }).click();
      await page.getByRole("menuitem", { name: choice, exact: true }).click();
    };
    await choose(`first ${word}`, "Pin");
    await row(`first ${word}`).getByText("Pinned:").waitFor({ state: "attached" });
    await page.reload();
    await list.getByLabel("Search conversations").fill(word);
    await row(`first ${word}`).getByText("Pinned:").waitFor({ state: "attached" });
    expect(await list.locator(".conversations-title").first().innerText()).toBe(`first ${word}`);

    await choose(`second ${word}`, "Rename");
    await list.getByLabel("New title").fill(`third ${word}`);
    await page.keyboard.press("Enter");
    await until([`first ${word}`, `third ${word}`]);
    await choose(`third ${word}`, "Fork");
    await eventually(async () => expect(await shown()).toHaveLength(3));
    await choose(`first ${word}`, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await eventually(async () => expect(await shown()).not.toContain(`first ${word}`));
    await list.getByLabel("Search conversations").fill(`${word} nothing`);
    await list.getByText(/No conversation has this title|Not among/).waitFor();
  });

  it("start from an imported CSV or JSON file, detected by its content", async ({ open, demo }) => {
    const page = await open(demo.url);
    const field = page.getByLabel("Import", { exact: true });
    const choose = (name: string, text: string, encoding?: "utf16le") =>
      field.setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text, encoding) });
    const panel = page.getByRole("region", { name: "Variables" });
    // In UTF-16 (TablePress/TablePress#31).
    await choose("sales.txt", '\uFEFFcity;total\nOslo;3\n"Rome; centre";4\n', "utf16le");
    await panel.getByText("2 elements").waitFor();
    const first = createClient(demo.url).conversation(idIn(page));
    expect(await first.variables.get("sales")).toEqual([
      { city: "Oslo", total: 3 },
      { city: "Rome; centre", total: 4 },
    ]);
    const address = page.url();
    await choose("settings", '{\n  "a": [1]\n}');
    await page.waitForURL((url) => url.href !== address);
    await panel.getByText("1 key").waitFor();
    const second = createClient(demo.url).conversation(idIn(page));
    expect(await second.variables.get("settings")).toEqual({ a: [1] });
    await choose("notes.csv", "Only words.");
    await page
      .getByText(
        "Could not import notes.csv: it is not a conversation export. To add data, use Add file.",
      )
      .waitFor();
  });
});
