import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { eventually, idIn, it } from "../support/page-test.ts";
import { drop, listed, records, variablesPage } from "../support/variables-page.ts";

describe("a file of the conversation", () => {
  it("is listed beside the variables, and downloaded under its name", async ({ open, demo }) => {
    const { page, id, variables } = await variablesPage({ open, demo });
    const put = async (path: string, query = "") => {
      const url = `${demo.url}/conversations/${id}/files/${path}${query}`;
      const init = { method: "PUT", body: "a,b", headers: { "content-type": "text/csv" } };
      expect((await fetch(url, init)).status).toBe(201);
    };
    await put("reports/%23%20umsätze.csv");
    await put("key.txt", "?visibility=secret");
    // A change in the conversation refreshes the list.
    await variables.put("second", 2);
    const files = page.getByRole("region", { name: "Files" });
    await files.getByText("2 files").waitFor();
    expect(await files.getByRole("button", { name: "key.txt" }).isDisabled()).toBe(true);
    const downloading = page.waitForEvent("download");
    await files.getByRole("button", { name: "reports/# umsätze.csv" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(/umsätze\.csv$/);
    expect(readFileSync(await download.path(), "utf8")).toBe("a,b");
  });
});

describe("a dropped file", () => {
  it("is a table at once: it can be queried with SQL, drawn, and the result saved", async ({
    open,
    demo,
  }) => {
    const { page, variables } = await variablesPage({ open, demo });
    const text = "city,units\nOslo,3\nRome,4\nOslo,10\n";
    await drop(page, [{ name: "sales.csv", text, type: "text/csv" }]);
    await listed(page, "sales").click();
    await page
      .getByLabel("SQL query")
      .fill("SELECT city, sum(units) AS units FROM sales GROUP BY city");
    await page.getByRole("button", { name: "Run query" }).click();
    const table = page.getByRole("table", { name: "$result" });
    await table.getByText("13", { exact: true }).waitFor();
    expect(await table.getAttribute("aria-rowcount")).toBe("3");
    await page.getByRole("button", { name: "Chart" }).click();
    await page.getByText(/units: 2 values from 4 to 13/).waitFor({ state: "attached" });
    await page.getByLabel("Name of the new variable").fill("by_city");
    await page.getByRole("button", { name: "Save 2 rows as a variable" }).click();
    await page.getByText("Saved as $by_city").waitFor();
    expect(await variables.get("by_city")).toEqual([
      { city: "Oslo", units: 13 },
      { city: "Rome", units: 4 },
    ]);
  });

  it("asks what to do if its name is taken, and reports invalid content", async ({
    open,
    demo,
  }) => {
    const { page, variables } = await variablesPage({ open, demo, forgives: /412|400/ });
    await variables.put("sales", 1);
    const text = "city,units\nOslo,3\nRome,4\n";
    await drop(page, [
      { name: "sales.csv", text },
      { name: "broken.json", text: "{" },
    ]);
    await page.getByText("$sales already exists.").waitFor();
    await page.locator(".variables-failed", { hasText: "JSON" }).waitFor();
    await page.getByRole("button", { name: "Keep both" }).click();
    await listed(page, "sales_000").waitFor();
    expect(await variables.get("sales_000")).toEqual([
      { city: "Oslo", units: 3 },
      { city: "Rome", units: 4 },
    ]);
    expect(await variables.get("sales")).toBe(1);
    await drop(page, [{ name: "sales.csv", text: "n\n7\n" }]);
    await page.getByRole("button", { name: "Replace it" }).click();
    await eventually(async () => expect(await variables.get("sales")).toEqual([{ n: 7 }]));
  });

  it("can be chosen instead, and an image is shown", async ({ open, demo }) => {
    const { page } = await variablesPage({ open, demo });
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const file = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(png, "base64") };
    await page.getByLabel("Files to save as variables").setInputFiles(file);
    await listed(page, "dot").click();
    const image = page.getByRole("img", { name: "$dot" });
    await image.waitFor();
    const width = () => page.evaluate("document.querySelector('.variables-image').naturalWidth");
    await eventually(async () => expect(await width()).toBe(1));
  });
});

describe("a file in a new conversation", () => {
  it("starts it, and another device finds the variable at its address", async ({ open, demo }) => {
    const page = await open(demo.url);
    await drop(page, [{ name: "begun.csv", text: "city\nOslo\n", type: "text/csv" }]);
    await listed(page, "begun").waitFor();
    await eventually(async () => expect(idIn(page)).not.toBe(""));
    const { variables } = createClient(demo.url).conversation(idIn(page));
    const other = await open(page.url());
    await listed(other, "begun").waitFor();
    await variables.put("second", 2);
    for (const one of [page, other]) await listed(one, "second").waitFor();
  });
});

describe("a variable", () => {
  it("is found among many when older ones are loaded", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    const names = Array.from({ length: 100 }, (_, at) => `many_${at}`);
    await Promise.all(names.map((name) => variables.put(name, 1)));
    await page.getByText(/^The newest 60,/).waitFor();
    await listed(page, "first").waitFor({ state: "detached" });
    const older = page.getByRole("button", { name: "Show older ones" });
    await older.click();
    await page.getByText(/^101 variables,/).waitFor();
    await listed(page, "first").waitFor();
    expect(await older.count()).toBe(0);
  });

  it("with a secret value shows only its metadata", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("token", "abc", { visibility: "secret" });
    await listed(page, "token").click();
    const shown = page.getByRole("article", { name: "Variable token" });
    await shown.getByText("This value is secret. Only tools that list it receive it.").waitFor();
    await shown.getByText("3 characters").waitFor();
  });

  it("is listed with its metadata, newest first", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("orders", records(1_200));
    await variables.put("orders", records(1_234));
    await variables.put("secret_key", "abc", { visibility: "secret" });
    await listed(page, "secret_key").waitFor();
    await page.getByText("version 2").waitFor();
    const rows = page.locator(".variables-open");
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringMatching(/^\$secret_key\s+now\s+3 characters\s+3 bytes\s+secret$/),
      expect.stringMatching(/^\$orders\s+now\s+1,234 elements\s+\d+ KB\s+version 2$/),
      expect.stringMatching(/^\$first\s+/),
    ]);
    const { bytes } = await variables.info("orders");
    expect(await rows.nth(1).innerText()).toContain(`${Math.round(bytes / 1_000)} KB`);
  });

  it("is downloaded as stored, under its name", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("rows", [{ a: 1 }, { a: "ü" }]);
    await listed(page, "rows").click();
    const started = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const download = await started;
    expect(download.suggestedFilename()).toBe("rows.json");
    expect(JSON.parse(readFileSync(await download.path(), "utf8"))).toEqual([{ a: 1 }, { a: "ü" }]);
  });

  it("is downloaded as the file that it was read from", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    const csv = "id,price\n1,1.50\n";
    await variables.put("sales", new Blob([csv], { type: "text/csv" }));
    await listed(page, "sales").click();
    const started = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const download = await started;
    expect(download.suggestedFilename()).toBe("sales.csv");
    expect(readFileSync(await download.path(), "utf8")).toBe(csv);
  });

  it("is pinned and unpinned, in the list and in its own view", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("price", 9, { ttl: 900 });
    const row = page.getByRole("listitem").filter({ hasText: "$price" });
    await row.locator(".variables-life").waitFor();
    await row.getByRole("button", { name: "Pin $price" }).click();
    await row.getByRole("button", { name: "Pin $price", pressed: true }).waitFor();
    // A pinned variable does not expire, so the expiry bar is removed.
    await row.locator(".variables-life").waitFor({ state: "detached" });
    expect(await variables.info("price")).toMatchObject({ pinned: true });
    await listed(page, "price").click();
    await page.getByRole("button", { name: "Pinned" }).click();
    await page.getByRole("button", { name: "Pin", exact: true }).waitFor();
    expect(await variables.info("price")).toMatchObject({ pinned: false });
  });

  it("is deleted after a confirmation", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo, forgives: /404|410/ });
    await variables.put("old", 1);
    await listed(page, "old").click();
    const press = async (name: string) => {
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
    };
    await press("Cancel");
    expect(await variables.get("old")).toBe(1);
    await press("Delete");
    await listed(page, "first").waitFor();
    await listed(page, "old").waitFor({ state: "detached" });
    expect((await variables.list()).variables.map((info) => info.name)).toEqual(["first"]);
  });

  it("disappears when it expires, and its bar shrinks until then", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("goes", 1, { ttl: 60 });
    const row = page.getByRole("listitem").filter({ hasText: "$goes" });
    await row.getByText(/expires in \d+ s/).waitFor({ state: "attached" });
    const left = async () =>
      Number(/[\d.]+/.exec((await row.locator(".variables-left").getAttribute("style")) ?? ""));
    const before = await left();
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThanOrEqual(1);
    await eventually(async () => expect(await left()).toBeLessThan(before));
    await listed(page, "goes").click();
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Expires in").fill("1 s");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "All variables" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByRole("tab", { name: "Variables 1" }).waitFor();
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByText(/\$goes removed \(expired\)/).waitFor();
  });
});

describe("an edited variable", () => {
  it("keeps the digits of its numbers", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    const json = '[{"id":1234567890123456789,"price":1.50}]';
    await variables.put("ids", new Blob([json], { type: "application/json" }));
    await listed(page, "ids").click();
    await page.getByRole("button", { name: "Edit" }).click();
    const field = page.getByLabel("The value of $ids");
    const text = await field.inputValue();
    expect(text).toBe('[\n  {\n    "id": 1234567890123456789,\n    "price": 1.50\n  }\n]');
    await field.fill(text.replace("1.50", "2.50"));
    await page.getByRole("button", { name: "Save" }).click();
    await field.waitFor({ state: "detached" });
    const saved = await (await variables.open("ids")).text();
    expect(saved).toBe(text.replace("1.50", "2.50"));
  });

  it("does not overwrite a newer version", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo, forgives: /412/ });
    await variables.put("quote", { price: 1 }, { pin: true, description: "Price" });
    await listed(page, "quote").click();
    const field = page.getByLabel("The value of $quote");
    const edit = async (text: string) => {
      await page.getByRole("button", { name: "Edit" }).click();
      await field.fill(text);
    };
    await edit('{"price": 2');
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await field.fill('{"price": 2}');
    await page.getByRole("button", { name: "Save" }).click();
    await field.waitFor({ state: "detached" });
    expect(await variables.get("quote")).toEqual({ price: 2 });
    expect(await variables.info("quote")).toMatchObject({ pinned: true, description: "Price" });
    await edit('{"price": 3}');
    await variables.put("quote", { price: 9 });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("$quote has been changed since you opened it.").waitFor();
    expect(await variables.get("quote")).toEqual({ price: 9 });
    await page.getByRole("button", { name: "Overwrite it with mine" }).click();
    await field.waitFor({ state: "detached" });
    expect(await variables.get("quote")).toEqual({ price: 3 });
  });
});
