import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { askAll, QUESTIONS } from "./script.ts";
import type { Shop } from "./start-shop.ts";
import { lastAnswer, talkTo } from "./talk.ts";

/** What a test asks of the agents of a shop, by the name of their class in URLs. */
export function talkWith(shop: () => Shop, agent: string) {
  const addressOf = (name: string) => `${shop().origin}/agents/${agent}/${name}`;
  const at = async (name: string, path: string): Promise<unknown> =>
    (await fetch(`${addressOf(name)}/${path}`)).json();
  return {
    addressOf,
    at,
    /** Asks all questions in a conversation, on a socket that is closed afterwards. */
    async converse(name: string): Promise<readonly string[]> {
      const talk = await talkTo(addressOf(name));
      const answers = await askAll(talk);
      talk.close();
      return answers;
    },
    tablesOf: async (name: string) =>
      (await at(name, "tables")) as Readonly<Record<string, readonly string[]>>,
  };
}

type Rule = readonly [name: string, hold: () => Promise<void>];

/** What holds for every agent with `byref/durable`. A rule that does not hold throws. */
export function rulesFor(shop: () => Shop, agent: string): readonly Rule[] {
  const { addressOf, at, converse, tablesOf } = talkWith(shop, agent);
  return [
    ["stores handles and references in its own tables, and reminds the model of them", stores],
    ["shows expanded texts to a client that connects again", shows],
    ["evicts variables by the scheduler of the Agents SDK, without a request", evicts],
    ["has one schedule, however many variables are saved", schedules],
    ["shares no variables with another conversation, and copies them when it is told to", copies],
  ];

  async function stores(): Promise<void> {
    const [, answer = ""] = await converse("stored");
    const tables = Object.entries(await tablesOf("stored"));
    const others = tables.filter(([name]) => !name.startsWith("byref_"));
    const rows = others.flatMap(([, rows]) => rows);
    assert.ok(Math.max(...rows.map(({ length }) => length)) < 4_000);
    const text = rows.join("\n");
    assert.ok(text.includes("$list_orders_1[*].id"));
    // The framework stores the text as shown to the person.
    assert.ok(text.includes(answer));
    const prompt = shop().model.prompts.at(-1)?.messages ?? "";
    assert.ok(prompt.includes("Order 17 goes to $list_orders_1[17].city."));
    assert.ok(!prompt.includes(answer));
    assert.ok(!text.includes("ord_00500"));
    // Byref stores the value in its own table.
    assert.equal(Object.fromEntries(tables)["byref_chunk"]?.length, 1);
  }

  async function shows(): Promise<void> {
    const answers = await converse("again");
    const talk = await talkTo(addressOf("again"));
    const stored = await talk.stored();
    talk.close();
    assert.equal(stored.length, 2 * QUESTIONS.length);
    assert.equal(lastAnswer(stored), answers.at(-1));
    assert.match(lastAnswer(stored), /^Order 17 goes to \w+\.$/u);
  }

  async function evicts(): Promise<void> {
    assert.equal(await (await fetch(`${addressOf("brief")}/brief`)).text(), "Saved");
    // The test's own time limit ends these loops.
    while ((await tablesOf("brief"))["byref_tombstone"]?.length !== 1) await setTimeout(50);
    assert.deepEqual(await at("brief", "names"), []);
    while (JSON.stringify(await at("brief", "schedules")) !== "[]") await setTimeout(50);
  }

  async function schedules(): Promise<void> {
    await converse("scheduled");
    const all = (await at("scheduled", "schedules")) as readonly Schedule[];
    const found = all.map(({ callback, type }) => [callback, type]);
    assert.deepEqual(found, [["sweepByrefVariables", "scheduled"]]);
  }

  async function copies(): Promise<void> {
    await converse("one");
    assert.deepEqual(await at("two", "names"), []);
    const talk = await talkTo(addressOf("two"));
    assert.equal(await talk.ask("Where does order 3 go?"), "I know of no orders.");
    talk.close();
    assert.equal(await (await fetch(`${addressOf("one")}/copy?to=three`)).text(), "Copied");
    assert.deepEqual(await at("three", "names"), ["list_orders_1", "ship_orders_1"]);
    const rows = (await tablesOf("three"))["byref_variable"] ?? [];
    const types = rows.map((row) => (JSON.parse(row) as { readonly type: string }).type);
    assert.deepEqual(types, ["array", "object"]);
  }
}

interface Schedule {
  readonly callback: string;
  readonly type: string;
}
