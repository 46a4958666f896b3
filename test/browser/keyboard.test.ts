import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { barriersInBoth } from "../support/axe.ts";
import { ask, askExample, calling, cardOf, eventually, it } from "../support/page-test.ts";
import { listed, variablesPage } from "../support/variables-page.ts";

/** Returns the elements that the Tab key focuses, in order, from the top of the page until focus leaves it. */
async function stops(page: Page): Promise<readonly string[]> {
  await page.evaluate("document.activeElement?.blur()");
  const found: string[] = [];
  for (let count = 0; count < 200; count++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate<string>(`(${nameOf})(document.activeElement)`);
    if (stop === "BODY" || (found.length > 0 && stop === found[0])) return found;
    found.push(stop);
  }
  throw new Error("The Tab key goes on for ever.");
}

/** Returns all enabled, visible controls of the page in document order. */
const controls = (page: Page) =>
  page.evaluate<readonly string[]>(`
    [...document.querySelectorAll("a[href], button, input, textarea, select, summary, [tabindex]")]
      .filter((one) => !one.disabled && one.tabIndex >= 0 && one.checkVisibility())
      .map(${nameOf})`);

/** Returns a unique, readable name of an element, for failure messages. */
const nameOf = `((one) => {
  if (one === document.body || one === null) return "BODY";
  const all = [...document.querySelectorAll("*")];
  const words = one.getAttribute("aria-label") ?? one.innerText ?? "";
  return all.indexOf(one) + " " + one.localName + " " + words.slice(0, 40);
})`;

const focused = (page: Page) =>
  page.evaluate<string>(
    "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText",
  );

describe("the keyboard alone", () => {
  it("reaches everything, in every view", async ({ open, demo }) => {
    const page = await open(demo.url);
    await page.getByRole("button", { name: /Compare the weather/ }).waitFor();
    // Other tests create conversations at the same time, and the page lists them too.
    await eventually(async () => expect(await stops(page)).toEqual(await controls(page)));
    await page.getByRole("button", { name: /Make a plan/ }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Answer again" }).waitFor();
    const panel = page.getByRole("tabpanel", { name: "Plans" });
    await panel.getByRole("heading", { name: /Report on/ }).waitFor();
    for (const tab of ["Plans", "Events", "Meter", "Variables"]) {
      await page.getByRole("tab", { name: tab }).click();
      await eventually(async () => expect(await stops(page)).toEqual(await controls(page)));
    }
  });

  it("opens a variable, returns to it, and moves among the others", async ({ open, demo }) => {
    const { page, variables } = await variablesPage({ open, demo });
    await variables.put("second", { a: 1 });
    await variables.put("third", [1]);
    await listed(page, "third").waitFor();
    await listed(page, "third").focus();
    await page.keyboard.press("ArrowDown");
    await eventually(async () => expect(await focused(page)).toContain("$second"));
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "Variable second" }).waitFor();
    await eventually(async () => expect(await focused(page)).toBe("All variables"));
    await page.keyboard.press("Enter");
    await listed(page, "second").waitFor();
    await eventually(async () => expect(await focused(page)).toContain("$second"));
    await page.keyboard.press("End");
    await eventually(async () => expect(await focused(page)).toContain("$first"));
    await page.keyboard.press("Home");
    await eventually(async () => expect(await focused(page)).toContain("$third"));
    await page.keyboard.press("Tab");
    await eventually(async () => expect(await focused(page)).toBe("Pin $third"));
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Pin $third", pressed: true }).waitFor();
  });

  it("closes what it opened with Escape, and returns to the same place", async ({ open, demo }) => {
    const page = await open(demo.url, { width: 900 });
    await askExample(page, /Compare the weather/);
    const mark = page.getByRole("button", { name: "Oslo", exact: true }).first();
    const card = await cardOf(page, mark);
    await page.keyboard.press("Escape");
    await card.waitFor({ state: "hidden" });
    await eventually(async () => expect(await focused(page)).toBe("Oslo"));
    // Scrolling may close the card before the key is pressed.
    await eventually(async () => {
      await cardOf(page, mark);
      await page.keyboard.press("Tab");
      expect(await focused(page)).toMatch(/^Open \$/);
    });

    const more = page.getByRole("button", { name: "More" });
    // On a busy machine, the page may still be moving the focus.
    const openMenu = () =>
      eventually(async () => {
        await more.focus();
        await page.keyboard.press("Enter");
        expect(await focused(page)).toBe("Fork");
      });
    await openMenu();
    await page.keyboard.press("ArrowUp");
    await eventually(async () => expect(await focused(page)).toBe("Delete"));
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await eventually(async () => expect(await focused(page)).toBe("More"));

    const edit = page.getByRole("button", { name: "Edit" });
    await edit.focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Your message").fill("Never sent");
    await page.keyboard.press("Escape");
    await page.getByLabel("Your message").waitFor({ state: "detached" });
    expect(await page.getByText("Never sent").count()).toBe(0);

    await page.getByRole("button", { name: "Conversations" }).focus();
    await page.keyboard.press("Enter");
    const list = page.getByRole("navigation", { name: "Conversations" });
    await list.waitFor();
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "hidden" });
    await eventually(async () => expect(await focused(page)).toBe("Conversations"));
  });
});

const isAt = (page: Page, selector: string) =>
  page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`);

it("shortcuts skip the list, focus the field, and list themselves", async ({ open, demo }) => {
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

it("a screen reader says that an answer begins, ends or waits", async ({ open, scripted }) => {
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
