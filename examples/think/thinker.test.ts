import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unstable_startWorker as startWorker } from "wrangler";
import { rulesFor, talkWith } from "../agents-sdk/rules.ts";
import { askAll, charsOf, messageCharsOf, QUESTIONS } from "../agents-sdk/script.ts";
import { type Shop, startShop } from "../agents-sdk/start-shop.ts";
import { talkTo } from "../agents-sdk/talk.ts";

let byref: Shop;

const documents = (path: string) => readFileSync(join(import.meta.dirname, path), "utf8");

beforeAll(async () => {
  byref = await startShop(startWorker, "inspected.ts");
});
afterAll(() => byref.stop());

const { at, converse } = talkWith(() => byref, "thinker");

describe("a Think agent with byref/durable", () => {
  it("differs from the one without in five lines", () => {
    const linesOf = (file: string) => readFileSync(file, "utf8").split("\n");
    const before = linesOf("before.ts");
    const changed = linesOf("thinker.ts").filter((line) => line !== "" && !before.includes(line));
    expect(changed).toHaveLength(5);
  });

  it("answers what it answered before, with at most 3 % of the messages, and what it could not see any more", async () => {
    const plain = await startShop(startWorker, "before.ts");
    try {
      const talk = await talkTo(`${plain.origin}/agents/thinker/first`);
      const before = await askAll(talk);
      talk.close();
      const count = byref.model.prompts.length;
      const answers = await converse("first");
      // Think cuts off old results, so that its model cannot see them.
      const isCutOff = (answer: string | undefined) => answer?.includes("cannot see") === true;
      expect(answers.filter((_, index) => !isCutOff(before[index]))).toEqual(
        before.filter((answer) => !isCutOff(answer)),
      );
      expect(answers.some(isCutOff)).toBe(false);
      const prompts = byref.model.prompts.slice(count);
      const [all, few] = [messageCharsOf(plain.model.prompts), messageCharsOf(prompts)];
      console.log(`messages: ${all} characters without, ${few} with byref`);
      expect(few / all).toBeLessThan(0.03);
      const others = [plain.model.prompts, prompts].map(charsOf);
      const row = others.map((chars) => chars.toLocaleString("en")).join(" | ");
      console.log(`with definitions: ${row}`);
      // The documents quote these figures.
      const [shownAll, shownFew] = [all, few].map((chars) => chars.toLocaleString("en"));
      const percent = ((few / all) * 100).toFixed(1);
      expect(documents("README.md")).toContain(`| ${row} |`);
      expect(documents("README.md")).toContain(
        `| characters of messages | ${shownAll} | ${shownFew} |`,
      );
      expect(documents("../../docs/guides/durable-objects.md")).toContain(
        `and ${others
          .map((chars) => chars.toLocaleString("en"))
          .toReversed()
          .join(" instead of ")} with the definitions`,
      );
      expect(documents("../../docs/guides/durable-objects.md")).toContain(
        `${shownFew} characters of messages instead of ${shownAll} (${percent} %)`,
      );
    } finally {
      await plain.stop();
    }
  });

  it("gives values to its hooks, to clients of the object and to schemas", async () => {
    await converse("hooks");
    const before = byref.model.prompts.length;
    const [, , last] = QUESTIONS;
    const shown = /^Order 250 goes to \w+\.$/u;
    const hooks = (await at("hooks", "hooks")) as Readonly<Record<string, readonly string[]>>;
    expect(last).toContain("250");
    expect(hooks.chunks?.join("")).not.toContain("$list");
    expect(hooks.chunks?.join("")).toContain("Order 250 goes to ");
    expect(hooks.steps).toContainEqual(expect.stringMatching(shown));
    expect(hooks.responses).toContainEqual(expect.stringMatching(shown));
    const events = (await at("hooks", "ask")) as readonly string[];
    const asked = events.map((event) => (JSON.parse(event) as { delta?: string }).delta ?? "");
    expect(asked.join("")).toMatch(/^Order 3 goes to \w+\.$/u);
    expect(await at("hooks", "object")).toEqual({
      output: { city: expect.stringMatching(/^\w+$/u), total: expect.any(Number) },
      text: '{"city":"$list_orders_1[3].city","total":"$list_orders_1[3].total"}',
    });
    const prompts = byref.model.prompts.slice(before).map(({ messages }) => messages);
    expect(prompts.join()).toContain("Order 250 goes to $list_orders_1[250].city.");
    expect(prompts.join()).not.toMatch(/Order 250 goes to \w+\./u);
  });

  it.each(rulesFor(() => byref, "thinker"))("%s", (_, hold) => hold());
});
