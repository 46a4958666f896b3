import type { ModelMessage } from "ai";
import { beforeEach, describe, expect, it } from "vitest";
import { ShownTexts } from "../../src/durable/shown-texts.ts";
import { NodeSql } from "../support/node-sql.ts";

const said = (...texts: readonly string[]): ModelMessage[] =>
  texts.map((text) => ({ role: "assistant", content: [{ type: "text", text }] }));

describe("texts that a framework stored with values", () => {
  let sql = new NodeSql();
  /** As the next life of the object finds them. */
  const texts = () => new ShownTexts(sql, "byref_");
  const kept = (written: string, shown: string, isGuarded = false) =>
    texts().keep({ written, shown, isGuarded });
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
    expect(restored("It costs 7.", "7", "It costs 7. Or 70?", "77")).toEqual([
      "It costs $price.",
      "$price",
      "It costs 7. Or 70?",
      "77",
    ]);
    const asked: ModelMessage[] = [{ role: "user", content: "It costs 7." }];
    expect(texts().restored(asked)).toEqual(asked);
  });

  it("have no sealed value, whole or cut off, alone or joined with others", () => {
    kept("Dear $name, your code is $code.", "Dear Ada Lovelace, your code is 1815-12.", true);
    expect(
      restored(
        "Dear Ada Lovelace, your code is 1815-12.",
        "Dear Ada Lov",
        "Dear Ada Lovelace, your c… [truncated 12 characters]",
        "First. Dear Ada Lovelace, your code is 1815-12. Then.",
        "Dear ",
        "Dear reader",
      ),
    ).toEqual([
      "Dear $name, your code is $code.",
      "Dear $name, your code is $code.",
      "Dear $name, your code is $code.",
      "First. Dear $name, your code is $code. Then.",
      "Dear ",
      "Dear reader",
    ]);
  });

  it("are kept while they grow, in one row", () => {
    const open = { written: "Code $code", shown: "Code 18", isGuarded: true };
    const store = texts();
    store.keep(open);
    Object.assign(open, { written: "Code $code.", shown: "Code 1815." });
    store.keep(open);
    expect(sql.all("SELECT written, shown FROM byref_shown_text")).toEqual([
      { written: "Code $code.", shown: "Code 1815." },
    ]);
  });

  it("are forgotten if they are old, but never those with sealed values", () => {
    kept("Code $code", "Code 1815", true);
    const store = texts();
    for (let count = 0; count < 250; count++) {
      store.keep({ written: `${count} $price`, shown: `${count} 7`, isGuarded: false });
    }
    expect(restored("Code 1815", "0 7", "249 7")).toEqual(["Code $code", "0 7", "249 $price"]);
    expect(sql.all("SELECT count(*) AS count FROM byref_shown_text")).toEqual([{ count: 201 }]);
  });

  it("are not kept if they are very long, unless they have sealed values", () => {
    const long = "x".repeat(600_000);
    kept("$long", long);
    expect(sql.all("SELECT id FROM byref_shown_text")).toEqual([]);
    kept("$long", long, true);
    expect(restored(long, long.slice(0, 1_000))).toEqual(["$long", "$long"]);
  });
});
