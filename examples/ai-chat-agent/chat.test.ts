import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askAll, charsOf, messageCharsOf, QUESTIONS } from "../agents-sdk/script.ts";
import { lastAnswer, talkTo } from "../agents-sdk/talk.ts";
import { type Shop, startShop } from "./start-shop.ts";

let byref: Shop;

const documents = (path: string) => readFileSync(join(import.meta.dirname, path), "utf8");

beforeAll(async () => {
  byref = await startShop("inspected.ts");
});
afterAll(() => byref.stop());

const addressOf = (name: string) => `${byref.origin}/agents/chat/${name}`;
const at = async (name: string, path: string): Promise<unknown> =>
  (await fetch(`${addressOf(name)}/${path}`)).json();
const tablesOf = async (name: string) =>
  (await at(name, "tables")) as Readonly<Record<string, readonly string[]>>;

/** Asks all questions in a conversation, on a socket that is closed afterwards. */
async function converse(name: string): Promise<readonly string[]> {
  const talk = await talkTo(addressOf(name));
  const answers = await askAll(talk);
  talk.close();
  return answers;
}

describe("an AIChatAgent with byref/durable", () => {
  it("differs from the one without in five lines", () => {
    const linesOf = (file: string) => readFileSync(file, "utf8").split("\n");
    const before = linesOf("before.ts");
    const changed = linesOf("chat.ts").filter((line) => line !== "" && !before.includes(line));
    expect(changed).toHaveLength(5);
  });

  it("answers the same with at most 3 % of the prompt", async () => {
    const plain = await startShop("before.ts");
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

  it("stores handles and references in the framework's tables, no large value, and reminds the model of references", async () => {
    const [, answer = ""] = await converse("stored");
    const tables = Object.entries(await tablesOf("stored"));
    const others = tables.filter(([name]) => !name.startsWith("byref_"));
    const rows = others.flatMap(([, rows]) => rows);
    expect(Math.max(...rows.map(({ length }) => length))).toBeLessThan(4_000);
    const text = rows.join("\n");
    expect(text).toContain("$list_orders_1[*].id");
    // The framework stores the text as shown to the person.
    expect(text).toContain(answer);
    const prompt = byref.model.prompts.at(-1)?.messages ?? "";
    expect(prompt).toContain("Order 17 goes to $list_orders_1[17].city.");
    expect(prompt).not.toContain(answer);
    expect(text).not.toContain("ord_00500");
    // Byref stores the value in its own table.
    expect(Object.fromEntries(tables).byref_chunk).toHaveLength(1);
  });

  it("shows expanded texts to a client that connects again", async () => {
    const answers = await converse("again");
    const talk = await talkTo(addressOf("again"));
    const stored = await talk.stored();
    talk.close();
    expect(stored).toHaveLength(2 * QUESTIONS.length);
    expect(lastAnswer(stored)).toBe(answers.at(-1));
    expect(lastAnswer(stored)).toMatch(/^Order 17 goes to \w+\.$/u);
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

  it("evicts variables by the scheduler of the Agents SDK, without a request", async () => {
    expect(await (await fetch(`${addressOf("brief")}/brief`)).text()).toBe("Saved");
    const tombstones = async () => (await tablesOf("brief")).byref_tombstone ?? [];
    await expect.poll(async () => (await tombstones()).length, { timeout: 20_000 }).toBe(1);
    expect(await at("brief", "names")).toEqual([]);
    await expect.poll(() => at("brief", "schedules"), { timeout: 20_000 }).toEqual([]);
  });

  it("has one schedule, however many variables are saved", async () => {
    await converse("scheduled");
    expect(await at("scheduled", "schedules")).toEqual([
      expect.objectContaining({ callback: "sweepByrefVariables", type: "scheduled" }),
    ]);
  });

  it("shares no variables between two conversations, and copies them when it is told to", async () => {
    await converse("one");
    expect(await at("two", "names")).toEqual([]);
    const talk = await talkTo(addressOf("two"));
    expect(await talk.ask("Where does order 3 go?")).toBe("I know of no orders.");
    talk.close();
    expect(await (await fetch(`${addressOf("one")}/copy?to=three`)).text()).toBe("Copied");
    expect(await at("three", "names")).toEqual(["list_orders_1", "ship_orders_1"]);
    const { byref_variable: copied = [] } = await tablesOf("three");
    expect(copied.map((row) => JSON.parse(row) as object)).toEqual([
      expect.objectContaining({ name: "list_orders_1", type: "array" }),
      expect.objectContaining({ name: "ship_orders_1", type: "object" }),
    ]);
  });
});
