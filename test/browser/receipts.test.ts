import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
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

async function receiptOf(url: string, conversation: string) {
  const chat = createClient(url).conversation(conversation);
  const { messages } = await chat.messages();
  return { messages, receipt: await chat.receipt(messages.at(-1)?.id ?? "") };
}
