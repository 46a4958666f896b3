import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EditedText } from "../../src/tool/edit/edit-variable.ts";
import type { Replacement } from "../../src/value/text-edit.ts";
import { slow } from "../support/slow.ts";
import { applyPatch } from "diff";
import { codeOf } from "../../src/errors.ts";

const unit = fc.constantFrom("a", "b", "ab", "\n", "c", "é", "😀");
const piece = fc.string({ unit, minLength: 1, maxLength: 4 });

/** A text, its pieces, and edits that often match. */
const editScripts = fc.record({
  text: fc.string({ unit, maxLength: 60 }),
  cuts: fc.array(fc.nat({ max: 70 }), { maxLength: 5 }),
  edits: fc.array(
    fc.record({ find: piece, replace: fc.string({ unit, maxLength: 5 }), all: fc.boolean() }),
    { minLength: 1, maxLength: 5 },
  ),
});

type Outcome = { readonly text: string } | { readonly code: string };

/** The naive implementation: replaces one text after the other. */
function naive(text: string, edits: readonly Replacement[]): Outcome {
  let edited = text;
  for (const { find, replace, all = false } of edits) {
    const parts = edited.split(find);
    if (parts.length === 1) return { code: "edit_not_found" };
    if (parts.length > 2 && !all) return { code: "edit_ambiguous" };
    edited = parts.join(replace);
  }
  return { text: edited };
}

function piecesOf(text: string, cuts: readonly number[]): readonly string[] {
  const ends = [...cuts, text.length].sort((one, other) => one - other);
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
}

/** Returns the edited text, and the result of applying its diff with another implementation. */
async function edited(text: string, cuts: readonly number[], edits: readonly Replacement[]) {
  const read = async function* () {
    yield* piecesOf(text, cuts);
  };
  const run = new EditedText(read, text.length, edits);
  let made = "";
  try {
    for await (const part of run.text()) made += part;
  } catch (error) {
    return { outcome: { code: codeOf(error) } };
  }
  const { diff, more } = run.diff();
  const isComplete = (one: string) => one === "" || one.endsWith("\n");
  const isMarked = diff.includes("\n\\ No newline");
  const lines = (one: string) => (isMarked || isComplete(one) ? one : `${one}\n`);
  const [before, after] = [text, made].map(lines);
  const applied = more === undefined ? applyPatch(before ?? "", `--- a\n+++ b\n${diff}`) : after;
  return { outcome: { text: made }, diff, applied, after };
}

async function* once(text: string) {
  yield text;
}

async function diffOf(text: string, edits: readonly Replacement[]) {
  const run = new EditedText(() => once(text), text.length, edits);
  for await (const _ of run.text());
  return run.diff();
}

const failureOf = async (text: string, edits: readonly Replacement[]) => {
  const run = new EditedText(() => once(text), text.length, edits);
  try {
    for await (const _ of run.text());
  } catch (error) {
    return error as { code: string; message: string; details: object };
  }
  throw new Error("It did not fail.");
};

describe("edits of a text", () => {
  it("match a naive implementation wherever the text is split, with a diff that other tools can apply", async () => {
    await fc.assert(
      fc.asyncProperty(editScripts, async ({ text, cuts, edits }) => {
        const { outcome, applied, after } = await edited(text, cuts, edits);
        expect(outcome).toEqual(naive(text, edits));
        expect(applied).toBe(after);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["a\nb", "b", "b\n", " a\n-b\n\\ No newline at end of file\n+b\n"],
    ["a\nb\n", "b\n", "b", " a\n-b\n+b\n\\ No newline at end of file\n"],
  ])("that change the last line break of %j show it", async (text, find, replace, lines) => {
    const { diff } = await edited(text, [], [{ find, replace }]);
    expect(diff).toBe(`@@ -1,2 +1,2 @@\n${lines}`);
  });

  it("find a long text in linear time", slow, async () => {
    const text = "a".repeat(1_000_000);
    const find = `b${"a".repeat(60_000)}`;
    expect(await failureOf(text, [{ find, replace: "" }])).toMatchObject({
      code: "edit_not_found",
    });
    const other = `${"a".repeat(60_000)}b`;
    expect(await failureOf(text, [{ find: other, replace: "" }])).toMatchObject({
      code: "edit_not_found",
    });
  });

  const all = (find: string, replace: string) => ({ find, replace, all: true });
  const many = "a".repeat(200_000);
  const large = 9_000_000;

  it.each<[what: string, limit: string, edited: readonly [text: string, edits: Replacement[]]]>([
    [
      "long replacements, often",
      "maxInsertedChars",
      [many, [all("a", "b".repeat(400)), all("c", "")]],
    ],
    ["a large text twice", "maxInsertedChars", ["xx", [all("x", "b".repeat(large))]]],
    [
      "back and forth",
      "maxInsertedChars",
      [many, Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? all("a", "b") : all("b", "a")))],
    ],
    [
      "what a large replacement added, often",
      "maxReadWork",
      ["x", [all("x", "a".repeat(large)), ...Array.from({ length: 50 }, () => all("aab", ""))]],
    ],
  ])("are refused if they read or write too much: %s", slow, async (_, limit, [text, edits]) => {
    expect(await failureOf(text, edits)).toMatchObject({
      code: "limit_exceeded",
      details: { limit },
    });
  });

  it("are ambiguous, however often a text occurs", async () => {
    expect(await failureOf("a\n".repeat(300_000), [{ find: "a", replace: "" }])).toMatchObject({
      code: "edit_ambiguous",
      message: expect.stringContaining('finds "a" 300000 times, in the lines 1, 2, 3, 4, 5, 6 …'),
    });
  });

  it("let others go on while they read a long text", async () => {
    const piece = "some words of a text\n".repeat(50_000);
    const read = async function* () {
      for (let at = 0; at < 60; at++) yield piece;
    };
    const run = new EditedText(read, 60 * piece.length, [all("zzz", "")]);
    let others = 0;
    const timer = setInterval(() => others++, 0);
    await expect(async () => {
      for await (const _ of run.text());
    }).rejects.toMatchObject({ code: "edit_not_found" });
    clearInterval(timer);
    expect(others).toBeGreaterThan(2);
  });

  it("show at most 60 lines, and count the rest", async () => {
    const text = Array.from({ length: 100 }, (_, line) => `${line} x`).join("\n");
    const { diff, more } = await diffOf(text, [{ find: " x", replace: " y", all: true }]);
    expect(diff.split("\n").length).toBe(61);
    expect(more).toBe(201 - 60);
    const one = await diffOf("x\n".repeat(500), [{ find: "x\n".repeat(500), replace: "y" }]);
    expect(one.diff.split("\n").length).toBe(61);
    expect(one.more).toBe(502 - 60);
  });

  it("show the changed part of a long line", async () => {
    const text = `${"a".repeat(5_000)}OLD${"b".repeat(5_000)}`;
    const { diff } = await diffOf(text, [{ find: "OLD", replace: "NEW" }]);
    expect(diff).toBe(
      `@@ -1 +1 @@\n-…${"a".repeat(60)}OLD${"b".repeat(137)}…\n+…${"a".repeat(60)}NEW${"b".repeat(137)}…\n`,
    );
  });

  it("that find nothing say which line is nearest", async () => {
    const text = "<head>\n  <title>Our prices</title>\n</head>\n<body>";
    const failure = await failureOf(text, [{ find: "<title>Our  Prices</title>", replace: "" }]);
    expect(failure).toMatchObject({
      code: "edit_not_found",
      details: { edit: 0, near: { line: 2, text: "<title>Our prices</title>" } },
    });
    const none = await failureOf(text, [{ find: "zzzzzzzz", replace: "" }]);
    expect(none.details).toEqual({ edit: 0, near: undefined });
  });

  it.each<[string, string, kinds: string[], place: [number, number], forms: [string, string]]>([
    ["a\r\nb\r\nc", "b\nc", ["line ends"], [2, 2], ["\r\n", "\n"]],
    ["one\rtwo", "one\ntwo", ["line ends"], [1, 4], ["\r", "\n"]],
    ["if (x) {\n\treturn\n}", "{\n    return", ["white space"], [1, 9], ["\n\t", "\n    "]],
    ["\tkey: 1", "    key: 1", ["white space"], [1, 1], ["\t", "    "]],
    ["10\u00a0000 EUR", "10 000 EUR", ["white space"], [1, 3], ["\u00a0", " "]],
    ["a b\u202fc d", "a b c", ["white space"], [1, 4], ["\u202f", " "]],
    ["caf\u00e9!", "cafe\u0301!", ["Unicode form (NFC, NFD)"], [1, 4], ["\u00e9", "e\u0301"]],
    ["\ud55c", "\u1112\u1161\u11ab", ["Unicode form (NFC, NFD)"], [1, 1], ["\ud55c", "\u1112"]],
    ["o\ufb03ce", "office", ["Unicode form (NFKC)"], [1, 2], ["\ufb03", "f"]],
    ["it\u2019s", "it's", ["quotes, dashes or invisible characters"], [1, 3], ["\u2019", "'"]],
    ["a\u200bb", "ab", ["quotes, dashes or invisible characters"], [1, 1], ["a\u200b", "a"]],
    ["1\u20132", "1-2", ["quotes, dashes or invisible characters"], [1, 2], ["\u2013", "-"]],
    [
      "caf\u00e9\r\n\tx\u00a0y",
      "cafe\u0301\n  x y",
      ["line ends", "white space", "Unicode form (NFC, NFD)"],
      [1, 4],
      ["\u00e9", "e\u0301"],
    ],
  ])(
    "that find a text in another form say what differs, and where: %j, %j",
    async (...[text, find, kinds, [line, column], [own, wanted]]) => {
      const failure = await failureOf(text, [{ find, replace: "" }]);
      const difference = { kinds, line, column, text: own, find: wanted };
      expect(failure).toMatchObject({ code: "edit_not_found", details: { edit: 0, difference } });
      const form = (part: string) =>
        JSON.stringify(part).replaceAll(
          /[^ -~]/g,
          (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
        );
      expect(failure.message).toContain(
        ` in ${kinds.join(" and ")} only: at line ${line}, column ${column} the text has ${form(own)}, find has ${form(wanted)}.`,
      );
    },
  );
});
