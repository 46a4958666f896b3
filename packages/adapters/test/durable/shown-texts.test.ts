import type { ModelMessage } from "ai";
import { beforeEach, describe, expect, it } from "vitest";
import { shownTexts } from "../../src/durable/shown-texts.ts";
import { NodeSql } from "../../../../test/support/node-sql.ts";

const said = (...texts: readonly string[]): ModelMessage[] =>
  texts.map((text) => ({ role: "assistant", content: [{ type: "text", text }] }));

describe("texts that a framework stored with values", () => {
  let sql = new NodeSql();
  /** Opens the stored texts anew, like the object after a restart. */
  const texts = () => shownTexts(sql, "byref_");
  const kept = (written: string, shown: string) => texts().keep({ written, shown }, {});
  const restored = (...shown: readonly string[]) =>
    texts()
      .restored(said(...shown))
      .map(({ content }) => (content as readonly { readonly text: string }[])[0]?.text);

  beforeEach(() => {
    sql = new NodeSql();
  });

  it("are restored as the model wrote them, and no other texts", () => {
    kept("It costs $price.", "It costs 7.");
    kept("$price", "7");
    const others = ["It costs", "It costs 7. Or 70?", "77", "7 days"];
    expect(restored("It costs 7.", "7", ...others)).toEqual([
      "It costs $price.",
      "$price",
      ...others,
    ]);
    const asked: ModelMessage[] = [{ role: "user", content: "It costs 7." }];
    expect(texts().restored(asked)).toEqual(asked);
  });

  it.each([
    ["Dear Ada L", "Dear $name, your code is $code."],
    ["Dear Ada Lovelace, your code is 18", "Dear $name, your code is $code."],
    [" Dear Ada Lovelace, your code is 1815-12.\n", "Dear $name, your code is $code."],
    ["Dear ", "Dear "],
    ["Dear Anna", "Dear Anna"],
  ])("have no sealed value if they are trimmed or cut off: %j", (stored, written) => {
    kept("Dear $name, your code is $code.", "Dear Ada Lovelace, your code is 1815-12.");
    expect(restored(stored)).toEqual([written]);
  });

  it("have no sealed value if the process ended while they were shown", () => {
    kept("Your code is $code", "Your code is 1815-12");
    expect(restored("Your code is 1815", "Your code is 1815-12 and")).toEqual([
      "Your code is $code",
      "Your code is $code and",
    ]);
  });

  it("replace their own start, and are forgotten when they are old", () => {
    const store = texts();
    const key = {};
    store.keep({ written: "$a", shown: "1815" }, key);
    store.keep({ written: "$a and $b", shown: "1815 and 1852" }, key);
    expect(restored("1815 and 1852")).toEqual(["$a and $b"]);
    expect(sql.all("SELECT count(*) AS count FROM byref_shown_text")).toEqual([{ count: 1 }]);
    for (let count = 0; count < 250; count++) {
      store.keep({ written: `${count} $price`, shown: `${count} 7` }, {});
    }
    expect(restored("0 7", "249 7")).toEqual(["0 7", "249 $price"]);
    expect(sql.all("SELECT count(*) AS count FROM byref_shown_text")).toEqual([{ count: 200 }]);
  });

  it.each([
    ["are very long", "x".repeat(600_000)],
    ["are cut in the middle of a character", `${"x".repeat(499_999)}😀 and more`],
    ["have half of a character, which SQLite does not hold", "It is \uD83D here."],
  ])("are recognized if they %s", (_, text) => {
    kept("$long", text);
    expect(restored(text)).toEqual(["$long"]);
  });
});
