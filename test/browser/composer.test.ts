import type { Locator, Page } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth } from "../support/axe.ts";
import { ask, eventually, idIn, it } from "../support/page-test.ts";

async function attachSales(page: Page, rows: string): Promise<void> {
  const buffer = Buffer.from(`city,total\n${rows}`);
  const file = { name: "my sales.csv", mimeType: "text/csv", buffer };
  await page.getByLabel("Files to attach").setInputFiles(file);
}

/** Attaches a file, and writes the start of a question that names it. */
async function nameSales(page: Page, rows: string): Promise<Locator> {
  await page.getByText("test-model", { exact: true }).waitFor();
  const field = page.getByLabel("Message", { exact: true });
  await attachSales(page, rows);
  await eventually(async () => expect(await field.inputValue()).toBe("$my_sales "));
  await field.fill("");
  await field.pressSequentially("Add $my");
  return field;
}

describe("the composer", () => {
  it("queues a message written during an answer, and sends it afterwards", async ({
    open,
    scripted,
  }) => {
    const held = Promise.withResolvers<void>();
    scripted.answer("Long question", { kind: "text", text: "Part of it.", hold: held.promise });
    scripted.answer("Second in line", { kind: "text", text: "Second answer." });
    scripted.answer("Third in line", { kind: "text", text: "Third answer." });
    const page = await open(scripted.url);
    await ask(page, "Long question");
    await page.getByText("Part").waitFor();
    const field = page.getByLabel("Message", { exact: true });
    const queue = page.getByRole("list", { name: "Queued messages" });
    for (const text of ["Second in line", "Never sent", "Third in line"]) {
      await field.fill(text);
      await page.getByRole("button", { name: "Queue", exact: true }).click();
    }
    await queue.getByRole("button", { name: "Remove “Never sent” from the queue" }).click();
    expect(await queue.getByRole("listitem").count()).toBe(2);
    expect(scripted.asked("Second in line")).toBe(0);
    held.resolve();
    await page.getByText("Third answer.").waitFor();
    expect(await page.locator(".message-question").allInnerTexts()).toEqual([
      "Long question",
      "Second in line",
      "Third in line",
    ]);
    expect(await queue.getByRole("listitem").count()).toBe(0);
  });

  it("completes references with the keys or the pointer, and shows what a question names", async ({
    open,
    scripted,
  }) => {
    const page = await open(scripted.url);
    const field = await nameSales(page, "Oslo,3\nRome,4\n");
    const list = page.getByRole("listbox", { name: "References" });
    await list.getByRole("option", { name: "$my_sales 2 elements" }).waitFor();
    expect(await barriersInBoth(page)).toEqual([]);
    await page.keyboard.press("Enter");
    expect(await field.inputValue()).toBe("Add $my_sales");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    await page.keyboard.type(".t");
    await list.getByText("$my_sales[*].total").click();
    expect(await field.inputValue()).toBe("Add $my_sales[*].total");
    await page.keyboard.type(" to $");
    await list.waitFor();
    await page.keyboard.press("Escape");
    expect(await list.count()).toBe(0);
    scripted.answer("Add $my_sales[*].total to $", { kind: "text", text: "It is 7." });
    await page.keyboard.press("Enter");
    await page.getByText("It is 7.").waitFor();
    await page.getByRole("button", { name: "$my_sales 2 rows × 2 columns" }).click();
    await page.getByRole("article", { name: "Variable my_sales" }).waitFor();
  });

  it("leaves keys to an input method (nearai/ironclaw#1139, RAIT-09/obsidian-agent-client#75)", async ({
    open,
    scripted,
  }) => {
    const page = await open(scripted.url);
    const field = await nameSales(page, "Oslo,3\n");
    await page.getByRole("option", { name: "$my_sales" }).waitFor();
    // Safari's comes when the composition has ended.
    for (const about of ["isComposing: true", "keyCode: 229"]) {
      const event = `new KeyboardEvent("keydown", { key: "Enter", bubbles: true, ${about} })`;
      await page.evaluate(`document.querySelector(".composer-field").dispatchEvent(${event})`);
      await page.keyboard.press("Escape");
    }
    expect(await field.inputValue()).toBe("Add $my");
    expect(scripted.asked("Add $my")).toBe(0);
  });

  it("attaches chosen or pasted files, and adds their names to the message", async ({
    open,
    scripted,
  }) => {
    const page = await open(scripted.url);
    await page.getByText("test-model", { exact: true }).waitFor();
    const field = page.getByLabel("Message", { exact: true });
    await field.fill("Sum up");
    await attachSales(page, "Oslo,3\n");
    await eventually(async () => expect(await field.inputValue()).toBe("Sum up $my_sales "));
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(['{"a": 1}'], "settings.json"));
      document
        .querySelector(".composer-field")
        .dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
    })()`);
    const both = "Sum up $my_sales $settings";
    await eventually(async () => expect(await field.inputValue()).toBe(`${both} `));
    scripted.answer(both, { kind: "text", text: "It is 3." });
    await page.keyboard.press("Control+End");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("It is 3.").waitFor();
    const { variables } = createClient(scripted.url).conversation(idIn(page));
    expect(await variables.get("my_sales")).toEqual([{ city: "Oslo", total: 3 }]);
    expect(await variables.get("settings")).toEqual({ a: 1 });
  });
});
