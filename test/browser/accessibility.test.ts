import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { barriersInBoth } from "../support/axe.ts";
import { ask, calling, it } from "../support/page-test.ts";

const isAt = (page: Page, selector: string) =>
  page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`);

describe("the page's keyboard shortcuts", () => {
  it("skip the list, focus the message field, and list themselves", async ({ open, demo }) => {
    const page = await open(demo.url);
    await page.getByRole("button", { name: /Compare the weather/ }).waitFor();
    await page.keyboard.press("Tab");
    const skip = page.getByRole("button", { name: "Skip to the message field" });
    expect(await isAt(page, ".skip-link")).toBe(true);
    expect((await skip.boundingBox())?.y).toBeGreaterThanOrEqual(0);
    await page.keyboard.press("Enter");
    expect(await isAt(page, ".composer-field")).toBe(true);
    // In the message field, the shortcuts are typed as text.
    await page.keyboard.type("/?");
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("/?");

    await page.getByRole("tab", { name: "Events" }).click();
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await dialog.getByText("Go to the message field").waitFor();
    expect(await barriersInBoth(page)).toEqual([]);
    await page.keyboard.press("/");
    expect(await dialog.isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("/");
    expect(await isAt(page, ".composer-field")).toBe(true);
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("/?");
  });
});

describe("a screen reader", () => {
  it("announces that an answer begins, ends, or needs approval", async ({ open, scripted }) => {
    scripted.answer("Say it", { kind: "text", text: "Said." });
    scripted.answer("Mail it", calling({ name: "send_mail", input: { text: "x" } }));
    const page = await open(scripted.url);
    const status = page.getByRole("status");
    await page.evaluate(`
      window.heard = [];
      new MutationObserver((changes) => {
        for (const { target } of changes) {
          const status = (target.nodeType === 1 ? target : target.parentElement)?.closest("[role=status]");
          if (status?.innerText) window.heard.push(status.innerText);
        }
      }).observe(document.body, { subtree: true, childList: true, characterData: true });`);
    await ask(page, "Say it");
    await status.getByText("Answer finished, 0 variables").waitFor({ state: "attached" });
    await ask(page, "Mail it");
    await status
      .getByText("The answer waits: approve or deny the call")
      .waitFor({ state: "attached" });
    const heard = await page.evaluate<readonly string[]>("window.heard");
    expect(heard.filter((words) => words.startsWith("Answer"))).toEqual([
      "Answering",
      "Answer finished, 0 variables",
      "Answering",
    ]);
  });
});
