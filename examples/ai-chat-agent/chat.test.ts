import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unstable_startWorker as startWorker } from "wrangler";
import { rulesFor, talkWith } from "../agents-sdk/rules.ts";
import { askAll, charsOf, messageCharsOf } from "../agents-sdk/script.ts";
import { type Shop, startShop } from "../agents-sdk/start-shop.ts";
import { talkTo } from "../agents-sdk/talk.ts";

let byref: Shop;

const documents = (path: string) => readFileSync(join(import.meta.dirname, path), "utf8");

beforeAll(async () => {
  byref = await startShop(startWorker, "inspected.ts");
});
afterAll(() => byref.stop());

const { at, converse } = talkWith(() => byref, "chat");

describe("an AIChatAgent with byref/durable", () => {
  it("differs from the one without in five lines", () => {
    const linesOf = (file: string) => readFileSync(file, "utf8").split("\n");
    const before = linesOf("before.ts");
    const changed = linesOf("chat.ts").filter((line) => line !== "" && !before.includes(line));
    expect(changed).toHaveLength(5);
  });

  it("answers the same with at most 3 % of the prompt", async () => {
    const plain = await startShop(startWorker, "before.ts");
    try {
      const talk = await talkTo(`${plain.origin}/agents/chat/first`);
      const expected = await askAll(talk);
      talk.close();
      const count = byref.model.prompts.length;
      expect(await converse("first")).toEqual(expected);
      const prompts = byref.model.prompts.slice(count);
      expect(prompts).toHaveLength(plain.model.prompts.length);
      const [all, few] = [charsOf(plain.model.prompts), charsOf(prompts)];
      console.log(`prompt: ${all} characters without, ${few} with byref`);
      expect(few / all).toBeLessThan(0.03);
      const others = [plain.model.prompts, prompts].map(messageCharsOf);
      const row = others.map((chars) => chars.toLocaleString("en")).join(" | ");
      console.log(`messages: ${row}`);
      // The documents quote these figures.
      const [shownAll, shownFew] = [all, few].map((chars) => chars.toLocaleString("en"));
      const percent = ((few / all) * 100).toFixed(1);
      expect(documents("README.md")).toContain(`| ${row} |`);
      expect(documents("README.md")).toContain(`${shownAll} | ${shownFew} |`);
      expect(documents("../../docs/guides/durable-objects.md")).toContain(
        `${shownFew} characters instead of ${shownAll} (${percent} %`,
      );
      expect(documents("../../README.md")).toContain(
        `[${percent} % of \`AIChatAgent\`'s](docs/guides/durable-objects.md#aichatagent)`,
      );
    } finally {
      await plain.stop();
    }
  });

  it("gives values to its hooks, and references to its model", async () => {
    const count = byref.model.prompts.length;
    await converse("hooks");
    const hooks = (await at("hooks", "hooks")) as Readonly<Record<string, readonly string[]>>;
    const shown = /^Order 250 goes to \w+\.$/u;
    expect(hooks.responses).toContainEqual(expect.stringMatching(shown));
    expect(hooks.messages).toContainEqual(expect.stringMatching(shown));
    const prompts = byref.model.prompts.slice(count).map(({ messages }) => messages);
    expect(prompts.join()).toContain("Order 250 goes to $list_orders_1[250].city.");
    expect(prompts.join()).not.toMatch(/Order 250 goes to \w+\./u);
  });

  it.each(rulesFor(() => byref, "chat"))("%s", (_, hold) => hold());
});
