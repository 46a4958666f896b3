import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth } from "../support/axe.ts";
import { ask, cardOf, idIn, it } from "../support/page-test.ts";

const london = { name: "get_weather", input: { location: "London" } };

describe("a value in an answer", () => {
  it("leads to its variable, path, version, tool call and time", async ({ open, scripted }) => {
    scripted.answer(
      "Receipt, please.",
      { kind: "calls", calls: [london] },
      // The same value twice: only the receipt shows which reference each one comes from.
      { kind: "text", text: "$get_weather_london.city, $get_weather_london.city" },
    );
    const page = await open(scripted.url);
    await ask(page, "Receipt, please.");
    const marks = page.getByRole("button", { name: "London", exact: true });
    await marks.nth(1).waitFor();
    const { messages, receipt } = await receiptOf(scripted.url, idIn(page));
    const [, second] = receipt.spans;
    expect(second).toMatchObject({ variable: "get_weather_london", path: ".city", version: 1 });
    const card = await cardOf(page, marks.nth(1));
    const time = await card.locator("time").getAttribute("datetime");
    expect(time).toBe(second?.at);
    expect(messages.at(-1)?.parts).toContainEqual(
      expect.objectContaining({ toolCallId: second?.call }),
    );
    await card.getByRole("button", { name: "Show the tool call" }).click();
    const focused = await page.evaluate("document.activeElement.closest('section').ariaLabel");
    expect(focused).toBe("Call of get_weather, saved as $get_weather_london");
    await (await cardOf(page, marks.first())).getByRole("button", { name: /^Open/ }).click();
    await page.getByRole("article", { name: "Variable get_weather_london" }).waitFor();
  });
});

describe("a figure typed by the model", () => {
  it("is marked by a switch, but not a value or a list number", async ({ open, scripted }) => {
    scripted.answer(
      "Typed or not, of 77?",
      { kind: "calls", calls: [london] },
      {
        kind: "text",
        text: "Of 77:\n\n1. It is **1,234** there.\n2. In $get_weather_london.city, on 2026-03-01.\n\n| a | b |\n| --- | --- |\n| 55 | x |",
      },
    );
    const page = await open(scripted.url);
    await ask(page, "Typed or not, of 77?");
    const answer = page.getByRole("article", { name: "Answer" });
    const typed = answer.locator("mark");
    await answer.getByRole("button", { name: "London", exact: true }).waitFor();
    expect(await typed.count()).toBe(0);
    await answer.getByRole("switch", { name: "Mark typed figures" }).click();
    await answer.getByText("The model typed 3 figures.").waitFor();
    expect(await typed.allInnerTexts()).toEqual(["1,234", "2026-03-01", "55"]);
    const { receipt } = await receiptOf(scripted.url, idIn(page));
    expect(receipt.typedFigures.map(({ text }) => text)).toEqual(["1,234", "2026-03-01", "55"]);
    expect(await barriersInBoth(page)).toEqual([]);
    await answer.getByRole("switch", { name: "Mark typed figures", checked: true }).click();
    expect(await typed.count()).toBe(0);
  });

  it("does not occur in an answer of references alone", async ({ open, demo }) => {
    const page = await open(demo.url);
    await page.getByRole("button", { name: /monthly totals of my orders\?/ }).click();
    const answer = page.getByRole("article", { name: "Answer" });
    await answer.getByRole("switch", { name: "Mark typed figures" }).click();
    await answer.getByText("The model typed no figure.").waitFor();
  });
});

async function receiptOf(url: string, conversation: string) {
  const chat = createClient(url).conversation(conversation);
  const { messages } = await chat.messages();
  return { messages, receipt: await chat.receipt(messages.at(-1)?.id ?? "") };
}
