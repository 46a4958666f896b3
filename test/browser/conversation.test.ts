import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { comparison, comparisonSaid } from "../support/page-answers.ts";
import { ask, cardOf, idIn, it } from "../support/page-test.ts";

const never = new Promise(() => undefined);

describe("an answer", () => {
  it("shows calls, values, and where they come from", async ({ open, scripted }) => {
    scripted.answer("Compare two.", ...comparison);
    const page = await open(scripted.url);
    await ask(page, "Compare two.");
    const answer = page.getByRole("article", { name: "Answer" });
    await answer.getByText(comparisonSaid).waitFor();
    expect(await answer.getByRole("region").allInnerTexts()).toEqual([
      expect.stringContaining("get_weather(location: London) → $get_weather_london"),
      expect.stringContaining("get_weather(location: Paris) → $get_weather_paris"),
      expect.stringMatching(
        /^compare_weather\(city1: \$get_weather_london, city2: \$get_weather_p/,
      ),
    ]);
    await page.getByRole("tab", { name: "Variables 3" }).waitFor();

    const mark = answer.getByRole("button", { name: "London", exact: true });
    const card = await cardOf(page, mark);
    const facts =
      /\$get_weather_london\.city\s+Variable\s+\$get_weather_london\s+Path\s+\.city\s+Version\s+1\s+Source\s+tool get_weather\s+Saved\s+\w+ \d/;
    expect(await card.innerText()).toMatch(facts);
    await page.keyboard.press("Escape");
    await card.waitFor({ state: "hidden" });
    await mark.blur();
    await mark.hover();
    expect(await card.innerText()).toMatch(facts);
    await page.mouse.move(1, 1);
    await card.waitFor({ state: "hidden" });
    await (await cardOf(page, mark)).getByRole("button", { name: "Show the tool call" }).click();
    const focused = await page.evaluate("document.activeElement.closest('section').ariaLabel");
    expect(focused).toBe("Call of get_weather, saved as $get_weather_london");

    await answer.getByRole("switch", { name: "Show references" }).click();
    await answer.getByText("In $get_weather_london.city and in").waitFor();
    expect(await answer.getByText("In London").count()).toBe(0);
    await answer.getByRole("switch", { name: "Show references", checked: true }).click();
    await answer.getByText("In London and in Paris:").waitFor();
  });

  it("shows what the tool received beside what the model wrote", async ({ open, scripted }) => {
    scripted.answer("Compare them.", ...comparison);
    const page = await open(scripted.url);
    await ask(page, "Compare them.");
    await page.getByText(comparisonSaid).waitFor();
    await page.getByRole("button", { name: /^compare_weather/ }).click();
    const card = page.getByRole("region", { name: "Call of compare_weather" });
    const wrote = card.getByLabel("city1, as the model wrote it");
    expect(await wrote.innerText()).toBe('"$get_weather_london"');
    const received = card.getByLabel("city1, as the tool received it");
    expect(JSON.parse(await received.innerText())).toMatchObject({ city: "London" });
    const note = card.getByText("has changed since this call");
    expect(await note.count()).toBe(0);

    const { variables } = createClient(scripted.url).conversation(idIn(page));
    // triggerdotdev/jsonhero-web#144
    const changed = new Blob(['{"city":"Elsewhere","id":1610521604143693812}']);
    await variables.put("get_weather_london", changed, { contentType: "application/json" });
    await card.getByText('"id": "1610521604143693812"').waitFor();
    expect(await note.innerText()).toMatch(/^\$get_weather_london has changed/);
    const mark = page.getByRole("button", { name: "London", exact: true });
    const facts = await cardOf(page, mark);
    expect(await facts.innerText()).toMatch(/Version\s+1\s.*changed since: 1 newer version/s);
  });

  it("is copied with its values, and a question as it was asked", async ({ open, scripted }) => {
    scripted.answer("Copy this.", ...comparison.slice(0, 1), {
      kind: "text",
      text: "**In** $get_weather_london.city and more.",
    });
    const page = await open(scripted.url);
    await ask(page, "Copy this.");
    const answer = page.getByRole("article", { name: "Answer" });
    await answer.getByText("In London and more.").waitFor();
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    await answer.getByRole("button", { name: "Copy" }).click();
    await answer.getByRole("button", { name: "Copied" }).waitFor();
    expect(await copied()).toBe("**In** London and more.");
    await page.getByRole("article", { name: "You" }).getByRole("button", { name: "Copy" }).click();
    await page.getByRole("article", { name: "You" }).getByLabel("Copied").waitFor();
    expect(await copied()).toBe("Copy this.");
  });

  it("continues when the page is reloaded halfway", async ({ open, scripted }) => {
    const held = Promise.withResolvers<void>();
    const text = "The first half, the second one.";
    scripted.answer("Slowly, please.", { kind: "text", text, hold: held.promise });
    const page = await open(scripted.url);
    await ask(page, "Slowly, please.");
    const answer = page.getByRole("article", { name: "Answer" });
    await answer.getByText("The first half").waitFor();
    await page.reload();
    await answer.getByText("The first half").waitFor();
    expect(await answer.innerText()).not.toContain("second");
    held.resolve();
    await answer.getByText(text).waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(scripted.asked("Slowly, please.")).toBe(1);
    expect(await page.getByRole("article").count()).toBe(2);
  });

  it("is stopped on the server, even after a reload", async ({ open, scripted }) => {
    scripted.answer("Go on for ever.", { kind: "text", text: "Without an end.", hold: never });
    scripted.answer("Once more.", { kind: "text", text: "Endlessly again.", hold: never });
    const page = await open(scripted.url);
    const stop = async () => {
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("button", { name: "Send" }).waitFor();
    };
    await ask(page, "Go on for ever.");
    await page.getByRole("article").getByText("Without").waitFor();
    await stop();
    const about = await fetch(`${scripted.url}/conversations/${idIn(page)}`);
    expect(await about.json()).toMatchObject({ status: "idle", messages: 2 });
    await page.getByText("Stopped", { exact: true }).waitFor();
    await ask(page, "Once more.");
    await page.getByText("Endless").waitFor();
    await page.reload();
    await page.getByText("Endless").waitFor();
    await stop();
    await page.getByText("Stopped", { exact: true }).nth(1).waitFor();
    expect(await page.getByRole("article").getByText("Without").count()).toBe(1);
  });

  it("can be regenerated, and follows an edited question", async ({ open, scripted }) => {
    scripted.answer("First", { kind: "text", text: "One." });
    scripted.answer("Second", { kind: "text", text: "Two." }, { kind: "text", text: "Three." });
    scripted.answer("Third", { kind: "text", text: "Four." });
    const page = await open(scripted.url);
    const sent: number[] = [];
    page.on("request", (request) => {
      const body = request.postDataJSON() as { readonly messages?: readonly unknown[] } | null;
      if (body?.messages !== undefined) sent.push(body.messages.length);
    });
    await ask(page, "First");
    await page.getByText("One.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Your message").fill("Second");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Two.", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Answer again" }).click();
    await page.getByText("Three.", { exact: true }).waitFor();
    const articles = () => page.getByRole("article").allInnerTexts();
    const shown = [expect.stringContaining("Second"), expect.stringContaining("Three.")];
    expect(await articles()).toEqual(shown);
    await ask(page, "Third");
    await page.getByText("Four.", { exact: true }).waitFor();
    // Each request contains the newest message only, because the server stores the others.
    expect(sent).toEqual([1, 1, 1, 1]);
    await page.reload();
    await page.getByText("Four.", { exact: true }).waitFor();
    expect(await articles()).toEqual([
      ...shown,
      expect.stringContaining("Third"),
      expect.stringContaining("Four."),
    ]);
  });
});
