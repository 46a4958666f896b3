import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { ask, it, type OpenOptions } from "../support/page-test.ts";

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
});
