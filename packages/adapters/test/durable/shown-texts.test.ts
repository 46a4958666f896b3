import type { ModelMessage, TextStreamPart, ToolSet } from "ai";
import { beforeEach, describe, expect, it } from "vitest";
import { expandStream, type SealedText, type ShownText } from "../../src/agent/expand-answer.ts";
import { ShownTexts } from "../../src/durable/shown-texts.ts";
import { MemoryStore } from "../../../../src/store/memory-store.ts";
import { NodeSql } from "../../../../test/support/node-sql.ts";

const said = (...texts: readonly string[]): ModelMessage[] =>
  texts.map((text) => ({ role: "assistant", content: [{ type: "text", text }] }));

/** Returns an answer with values in place of its references. */
function sealedText(written: string, values: Readonly<Record<string, string>>): ShownText {
  const sealed: SealedText[] = [];
  let shown = "";
  for (const piece of written.split(/(\$\w+)/)) {
    const text = piece.startsWith("$") ? values[piece.slice(1)] : undefined;
    if (text !== undefined) sealed.push({ source: piece, text, at: shown.length });
    shown += text ?? piece;
  }
  return { written, shown, sealed, isComplete: true };
}

describe("texts that a framework stored with values", () => {
  let sql = new NodeSql();
  /** Opens the stored texts anew, like the object after a restart. */
  const texts = () => new ShownTexts(sql, "byref_");
  const kept = (written: string, shown: string) =>
    texts().keep({ written, shown, sealed: [], isComplete: true });
  /** Stores an answer whose references are sealed values, and returns the shown text. */
  const keptSealed = (written: string, values: Readonly<Record<string, string>>) => {
    const text = sealedText(written, values);
    texts().keep(text);
    return text.shown;
  };
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

  it("contain no sealed value, whole or cut off, alone or joined with others", () => {
    const shown = keptSealed("Dear $name, your code is $code.", {
      name: "Ada Lovelace",
      code: "1815-12",
    });
    expect(shown).toBe("Dear Ada Lovelace, your code is 1815-12.");
    expect(
      restored(
        shown,
        "Dear Ada Lov",
        "Dear Ada Lovelace, your c… [truncated 12 characters]",
        "First. Dear Ada Lovelace, your code is 1815-12. Then.",
        "Earlier. Dear Ada Lovelace, your code is 18",
        "Dear ",
        "Dear reader",
        "Dear Anna",
      ),
    ).toEqual([
      "Dear $name, your code is $code.",
      "Dear $name",
      "Dear $name, your c… [truncated 12 characters]",
      "First. Dear $name, your code is $code. Then.",
      "Earlier. Dear $name, your code is $code",
      "Dear ",
      "Dear reader",
      "Dear Anna",
    ]);
  });

  it("are not mistaken for another text with the same beginning", () => {
    keptSealed("$salary is your salary.", { salary: "123456" });
    expect(restored("1. First step: do this.", "12 steps.", "Earlier. 123456 is your sal")).toEqual(
      ["1. First step: do this.", "12 steps.", "Earlier. $salary is your sal"],
    );
  });

  it("contain no sealed value if the framework trims them and cuts them off", () => {
    const shown = keptSealed("\n\n  Salary: $salary is yours.", { salary: "123456" });
    expect(restored(shown.trim(), shown.trim().slice(0, 11), `…${shown.trim().slice(3)}`)).toEqual([
      "Salary: $salary is yours.",
      "Salary: $salary",
      "…ary: $salary is yours.",
    ]);
  });

  it("contain no part of a long sealed value, however it is cut", () => {
    const letter = Array.from({ length: 60 }, (_, line) => `Line ${line} of the letter.`).join(" ");
    keptSealed("$letter", { letter });
    for (let at = 8; at < letter.length - 8; at += 13) {
      const [start, end] = [letter.slice(0, at), letter.slice(at)];
      expect(
        restored(start, end, `It says: ${start}… [cut]`, `[cut] …${end} That is all.`),
      ).toEqual(["$letter", "$letter", "It says: $letter… [cut]", "[cut] …$letter That is all."]);
    }
    expect(restored(letter.slice(100, 200))).toEqual(["$letter"]);
  });

  it("contain no short sealed value next to its original text, and keep equal values elsewhere", () => {
    keptSealed("$level is your level, $vip is your status.", { level: "7", vip: "yes" });
    expect(
      restored("Hi! 7 is your level, yes is your", "7 days", "Oh yes.", "17 is your level"),
    ).toEqual(["Hi! $level is your level, $vip is your", "7 days", "Oh yes.", "17 is your level"]);
  });

  it("contain no sealed value if the process ended while they were shown", () => {
    const { written, shown, sealed } = sealedText("Your code is $code.", { code: "1815-12" });
    const at = sealed[0]?.at ?? 0;
    texts().keep({ written, shown: shown.slice(0, at), sealed, isComplete: false });
    expect(restored("Your code is 1815-12", "Your code is 18")).toEqual([
      "Your code is $code",
      "Your code is $code",
    ]);
  });

  it("are forgotten when they are old; sealed values stay while a prompt has them, up to a limit", () => {
    keptSealed("Code $code", { code: "1815-12" });
    const store = texts();
    for (let count = 0; count < 250; count++) {
      store.keep({ written: `${count} $price`, shown: `${count} 7`, sealed: [], isComplete: true });
    }
    expect(restored("0 7", "249 7")).toEqual(["0 7", "249 $price"]);
    expect(sql.all("SELECT count(*) AS count FROM byref_shown_text")).toEqual([{ count: 200 }]);
    for (let count = 0; count < 1_100; count++) {
      if (count % 500 === 0) store.restored(said("Code 1815-12"));
      store.keep(sealedText(`${count}: $x`, { x: `v${1_000 + count}` }));
    }
    expect(restored("Code 1815-12", "v1099", "v2099")).toEqual(["Code $code", "v1099", "$x"]);
    expect(sql.all("SELECT count(*) AS count FROM byref_shown_sealed")).toEqual([{ count: 1_000 }]);
  });

  it("are not kept if they are very long, unless they contain sealed values", () => {
    const long = "x".repeat(600_000);
    kept("$long", long);
    expect(sql.all("SELECT id FROM byref_shown_text")).toEqual([]);
    keptSealed("$long", { long });
    expect(restored(long, long.slice(0, 1_000), `So: ${long}`)).toEqual([
      "$long",
      "$long",
      "So: $long",
    ]);
  });

  it("are written a few times, however many pieces an answer has", async () => {
    const store = new MemoryStore();
    await store.save({ name: "code", value: "1815-12", visibility: "sealed" });
    const shown = texts();
    let statements = 0;
    const run = sql.run.bind(sql);
    sql.run = (...parameters) => {
      statements++;
      run(...parameters);
    };
    const parts: TextStreamPart<ToolSet>[] = [
      { type: "text-start", id: "1" },
      ...Array.from({ length: 400 }, (_, at) => ({
        type: "text-delta" as const,
        id: "1",
        text: at === 3 ? "$code. " : "ninechar ",
      })),
      { type: "text-end", id: "1" },
    ];
    const seen: string[] = [];
    const answer = new ReadableStream<TextStreamPart<ToolSet>>({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    });
    const stream = answer.pipeThrough(
      expandStream(store, {
        onShown: (text) => {
          seen.push(text.shown.slice(-9));
          shown.keep(text);
        },
      }),
    );
    await stream.pipeTo(new WritableStream());
    // The text is stored before the value is shown, and at the end.
    expect(seen).toEqual(["ninechar ", "ninechar "]);
    // Two of the statements create the tables.
    expect(statements).toBe(4);
    expect(restored("… 1815-12. nine")).toEqual(["… $code. nine"]);
  });

  it("are found in bounded time, even in adversarial texts", () => {
    const value = "a".repeat(65_536);
    keptSealed("It is $a", { a: value });
    const text = `b${"a".repeat(32_000)}b`;
    expect(restored(...Array.from({ length: 20 }, () => text))).toEqual(
      Array.from({ length: 20 }, () => "b$ab"),
    );
  });
});
