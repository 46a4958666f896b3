import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { comparison } from "../support/page-answers.ts";
import { ask, idIn, it, type OpenOptions } from "../support/page-test.ts";

type Open = (url: string, options?: OpenOptions) => Promise<Page>;

interface Twice {
  readonly url: string;
  readonly question: string;
  /** True if the second page is another tab of the same browser, false if it is another device. */
  readonly isTab: boolean;
}

/** Opens a conversation in two pages that show the answer "Here." to this question. */
async function openTwice(open: Open, { url, question, isTab }: Twice) {
  const first = await open(url);
  await ask(first, question);
  await first.getByText("Here.", { exact: true }).waitFor();
  const second = await open(first.url(), isTab ? { beside: first } : {});
  await second.getByText("Here.", { exact: true }).waitFor();
  return [first, second] as const;
}

describe("two tabs with one conversation", () => {
  it("show questions and answers from the other tab", async ({ open, scripted }) => {
    scripted.answer("From the first.", { kind: "text", text: "Here." });
    scripted.answer("Told to both.", { kind: "text", text: "To both." });
    scripted.answer("A program", { kind: "text", text: "There." });
    const [first, second] = await openTwice(open, {
      url: scripted.url,
      question: "From the first.",
      isTab: true,
    });
    await ask(first, "Told to both.");
    for (const page of [first, second]) await page.getByText("To both.", { exact: true }).waitFor();
    await createClient(scripted.url).conversation(idIn(first)).send("A program").text();
    for (const page of [first, second]) {
      await page.getByText("There.", { exact: true }).waitFor();
      expect(await page.getByRole("article").count()).toBe(6);
    }
    expect(scripted.asked("Told to both.")).toBe(1);
  });

  it("show a stream that one of them joins, and either stops it", async ({ open, scripted }) => {
    const hold = new Promise(() => undefined);
    scripted.answer("Joined late.", { kind: "text", text: "Endless words.", hold });
    const first = await open(scripted.url);
    await ask(first, "Joined late.");
    await first.getByText("Endless").waitFor();
    const second = await open(first.url(), { beside: first });
    await second.getByText("Endless").waitFor();
    await second.getByRole("button", { name: "Stop" }).click();
    for (const page of [first, second]) {
      await page.getByRole("button", { name: "Send" }).waitFor();
      await page.getByText("Stopped", { exact: true }).waitFor();
    }
  });

  it("stop asking for an approval that one of them has decided", async ({ open, scripted }) => {
    const calls = [{ name: "send_mail", input: { text: "Once for two tabs" } }];
    scripted.answer(
      "Send it once.",
      { kind: "calls", calls },
      { kind: "text", text: "It went out." },
    );
    const first = await open(scripted.url);
    await ask(first, "Send it once.");
    const approve = { name: "Approve", exact: true } as const;
    await first.getByRole("button", approve).waitFor();
    const second = await open(first.url(), { beside: first });
    await second.getByRole("button", approve).waitFor();
    await first.getByRole("button", approve).click();
    for (const page of [first, second]) {
      await page.getByText("It went out.").waitFor();
      expect(await page.getByRole("button", approve).count()).toBe(0);
    }
    const sent = scripted.mail.calls.filter(({ input: { text } }) => text === "Once for two tabs");
    expect(sent).toHaveLength(1);
  });

  it("share the variables, whichever tab writes them", async ({ open, scripted }) => {
    scripted.answer("Share this.", ...comparison);
    const first = await open(scripted.url);
    await ask(first, "Share this.");
    await first.getByRole("tab", { name: "Variables 3" }).waitFor();
    const second = await open(first.url(), { beside: first });
    await second.getByRole("tab", { name: "Variables 3" }).waitFor();
    const { variables } = createClient(scripted.url).conversation(idIn(first));
    await variables.put("added", [1, 2, 3]);
    await variables.delete("compare_weather_1");
    for (const page of [first, second]) {
      await page.locator(".variables-open", { hasText: "$added" }).waitFor();
      const gone = page.locator(".variables-open", { hasText: "$compare_weather_1" });
      await gone.waitFor({ state: "detached" });
    }
  });

  it.for([
    ["tab", true],
    ["device", false],
  ] as const)(
    "show a question on another %s during its answer",
    async ([other, isTab], { open, scripted }) => {
      const [first, second] = [`Asked in the first, ${other}.`, `Streamed to both, ${other}.`];
      const held = Promise.withResolvers<void>();
      const text = "Half of it, and the rest.";
      scripted.answer(first, { kind: "text", text: "Here." });
      scripted.answer(second, { kind: "text", text, hold: held.promise });
      const pages = await openTwice(open, { url: scripted.url, question: first, isTab });
      await ask(pages[0], second);
      for (const page of pages) await page.getByText("Half of").waitFor();
      await pages[1].getByRole("button", { name: "Stop" }).waitFor();
      held.resolve();
      for (const page of pages) {
        await page.getByText(text).waitFor();
        await page.getByRole("button", { name: "Send" }).waitFor();
        expect(await page.getByRole("article").count()).toBe(4);
      }
      expect(scripted.asked(second)).toBe(1);
    },
  );

  it("show the question of a turn that begins while one of them loads", async ({
    open,
    scripted,
  }) => {
    const question = "Asked before the reload.";
    const hold = new Promise(() => undefined);
    scripted.answer(question, { kind: "text", text: "Here." });
    scripted.answer("During the reload.", { kind: "text", text: "Endless words.", hold });
    const [first, second] = await openTwice(open, { url: scripted.url, question, isTab: false });
    const asked = Promise.withResolvers<void>();
    await second.route(/\/stream$/, async (route) => {
      await asked.promise;
      await route.continue();
    });
    const resumed = second.waitForRequest(/\/stream$/);
    await second.reload();
    await resumed;
    await second.getByText("Here.", { exact: true }).waitFor();
    await ask(first, "During the reload.");
    await first.getByText("Endless").waitFor();
    asked.resolve();
    await second.getByText("Endless").waitFor();
    expect(await second.getByRole("article").allInnerTexts()).toEqual([
      question,
      "Here.",
      "During the reload.",
      expect.stringContaining("Endless"),
    ]);
  });

  it("show a program's question during its answer, and either stops it", async ({
    open,
    scripted,
  }) => {
    const hold = new Promise(() => undefined);
    const question = "Asked before the program.";
    scripted.answer(question, { kind: "text", text: "Here." });
    scripted.answer("By a program", { kind: "text", text: "Endless words.", hold });
    const pages = await openTwice(open, { url: scripted.url, question, isTab: false });
    void createClient(scripted.url).conversation(idIn(pages[0])).send("By a program").text();
    for (const page of pages) await page.getByText("Endless").waitFor();
    await pages[1].getByRole("button", { name: "Stop" }).click();
    for (const page of pages) {
      await page.getByRole("button", { name: "Send" }).waitFor();
      await page.getByText("Stopped", { exact: true }).waitFor();
    }
  });
});
