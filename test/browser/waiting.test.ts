import { describe, expect } from "vitest";
import { barriersInBoth } from "../support/axe.ts";
import { ask, calling, idIn, it, saying } from "../support/page-test.ts";

const london = { name: "get_weather", input: { location: "London" } };
const mail = { name: "send_mail", input: { text: "In $get_weather_london.city" } };

/** Stores the page's address as soon as the answer is in the document, before other code of the page runs. */
const KEEPS_ADDRESS_OF_ANSWER = `new MutationObserver((_, observer) => {
  if (document.querySelector("article.message-answer") === null) return;
  observer.disconnect();
  sessionStorage.setItem("address", location.href);
}).observe(document.body, { childList: true, subtree: true })`;

describe("a call that waits", () => {
  it("shows what would run, even after a reload, and is approved or denied", async ({
    open,
    scripted,
  }) => {
    scripted.answer("Send it.", calling(london), calling(mail), saying("It is sent."));
    const again = { name: "send_mail", input: { text: "Denied to $get_weather_london.city" } };
    scripted.answer("Send it once more.", calling(again), saying("Then not."));
    const page = await open(scripted.url);
    await page.evaluate(KEEPS_ADDRESS_OF_ANSWER);
    await ask(page, "Send it.");
    const card = page.getByRole("region", { name: "Call of send_mail" });
    const input = card.getByLabel("Input with its values");
    const field = card.getByRole("textbox", { name: "text" });
    await field.waitFor();
    expect(await field.inputValue()).toBe("In London");
    expect(await input.isVisible()).toBe(false);
    // The address contains the conversation as soon as the answer appears, so a reload finds the approval.
    const address = await page.evaluate(`sessionStorage.getItem("address")`);
    expect(address).toBe(page.url());
    expect(idIn(page)).not.toBe("");
    await page.reload();
    await card.getByText("As JSON").click();
    expect(JSON.parse(await input.innerText())).toEqual({ text: "In London" });
    const sent = () => scripted.mail.calls.map(({ input: { text } }) => text);
    expect(sent()).not.toContain("In London");
    await card.getByRole("button", { name: "Approve" }).click();
    await page.getByText("It is sent.").waitFor();
    expect(sent().filter((text) => text === "In London")).toHaveLength(1);

    await ask(page, "Send it once more.");
    await card.nth(1).getByLabel("Reason (optional)").fill("Enough.");
    await card.nth(1).getByRole("button", { name: "Deny" }).click();
    await page.getByText("Then not.").waitFor();
    expect(sent()).not.toContain("Denied to London");
    await card.nth(1).getByRole("button", { expanded: false }).click();
    await card.nth(1).getByText("Enough.").waitFor();
  });

  it("may run with another input, which is checked: until then it waits", async ({
    open,
    scripted,
  }) => {
    scripted.answer("Change it.", calling(london), calling(mail), saying("It is changed."));
    const page = await open(scripted.url, { forgives: /404/ });
    await ask(page, "Change it.");
    const card = page.getByRole("region", { name: "Call of send_mail" });
    const field = card.getByRole("textbox", { name: "text" });
    await field.fill("In $get_weather_london.nothing");
    await card.getByRole("button", { name: "Approve" }).click();
    await card.getByRole("alert").filter({ hasText: "nothing" }).waitFor();
    await field.fill("In Rome, not $get_weather_london.city");
    await card.getByRole("button", { name: "Approve" }).click();
    await page.getByText("It is changed.").waitFor();
    const sent = scripted.mail.calls.map(({ input: { text } }) => text);
    expect(sent).toContain("In Rome, not London");
    await card.getByRole("button", { expanded: false }).click();
    await card.getByText("text: In $get_weather_london.city").waitFor();
  });

  it("has no field for a value in which a changed text would be read as a reference", async ({
    open,
    scripted,
  }) => {
    const note = { name: "set_variable", input: { name: "note", value: "Dear {{someone}}" } };
    const letter = { name: "send_mail", input: { text: "$note" } };
    scripted.answer("Send the note.", calling(note), calling(letter), saying("It is sent."));
    const page = await open(scripted.url);
    await ask(page, "Send the note.");
    const card = page.getByRole("region", { name: "Call of send_mail" });
    await card.getByRole("cell", { name: "Dear {{someone}}" }).waitFor();
    expect(await card.getByRole("textbox", { name: "text" }).count()).toBe(0);
  });

  it("is counted in a banner, in the list and in the title, until it is decided", async ({
    open,
    demo,
  }) => {
    const page = await open(demo.url);
    await page.getByRole("button", { name: /Refund order ord_00009/ }).click();
    const banner = page.getByRole("status").filter({ hasText: "1 approval needed" });
    await banner.waitFor();
    expect(await page.title()).toMatch(/^\(1\) /);
    const list = page.getByRole("navigation", { name: "Conversations" });
    const current = list.locator("[aria-current=page]");
    await current.getByText("Needs your approval").waitFor();
    // Other tests have approvals on this server too, so the number is not fixed.
    await list.getByText(/^\d+ approvals? needed$/).waitFor();

    const card = page.getByRole("region", { name: "Call of refund_order" });
    await card.getByText("refund_order runs").waitFor();
    const rows = await card.getByRole("row").allInnerTexts();
    expect(rows.map((row) => row.replaceAll(/\s+/g, " "))).toEqual([
      "Parameter Value The model wrote",
      expect.stringMatching(/^order \$\w+\.id$/),
      expect.stringMatching(/^amount \$\w+\.total$/),
      expect.stringMatching(/^currency \$\w+\.currency$/),
    ]);
    const valueOf = (name: string) => card.getByRole("textbox", { name }).inputValue();
    expect([await valueOf("order"), await valueOf("currency")]).toEqual(["ord_00009", "USD"]);
    const amount = await valueOf("amount");
    expect(await barriersInBoth(page)).toEqual([]);
    await banner.getByRole("button", { name: "Show it" }).click();
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Approve");
    await page.keyboard.press("Enter");
    await page.getByText(`${amount} USD of ord_00009 are paid back to`).waitFor();
    await banner.waitFor({ state: "detached" });
    expect(await page.title()).not.toContain("(1)");
    await current.getByText("Needs your approval").waitFor({ state: "detached" });
  });
});

it("an error is explained in words, and can be retried", async ({ open, scripted }) => {
  const body = JSON.stringify({ error: { message: "No such model." } });
  scripted.answer("Well?", { kind: "status", status: 404, body });
  scripted.answer("Well?", saying("Now it works."));
  const page = await open(scripted.url);
  await ask(page, "Well?");
  const trouble = page.getByRole("alert");
  await trouble.waitFor();
  expect(await trouble.innerText()).toMatch(/The model failed\./);
  await trouble.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Now it works.").waitFor();
  expect(await page.getByRole("article", { name: "You" }).count()).toBe(1);
  await trouble.waitFor({ state: "detached" });
});
