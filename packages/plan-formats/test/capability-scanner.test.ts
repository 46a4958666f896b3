import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CapabilityScanner, type WrittenCall } from "../src/capability/capability-scanner.ts";
import * as limits from "../../../src/limits.ts";
import { xmlFragment } from "./workflow-xml.ts";

type Piece = string | WrittenCall;

/** Returns all pieces (adjacent texts joined), and the most characters that were held between two chunks. */
function scan(chunks: readonly string[]): { pieces: Piece[]; mostHeld: number } {
  const scanner = new CapabilityScanner();
  const pieces: Piece[] = [];
  let [held, mostHeld] = [0, 0];
  const take = (given: readonly Piece[]) => {
    for (const piece of given) {
      held -= (typeof piece === "string" ? piece : piece.source).length;
      const last = pieces.at(-1);
      if (typeof piece !== "string" || typeof last !== "string") pieces.push(piece);
      else pieces[pieces.length - 1] = last + piece;
    }
  };
  for (const chunk of chunks) {
    held += chunk.length;
    take(scanner.feed(chunk));
    mostHeld = Math.max(mostHeld, held);
  }
  take(scanner.end());
  expect(held).toBe(0);
  return { pieces, mostHeld };
}

/** Returns the shown text, with the called tools in braces in place of the tags. */
function shown(text: string): string {
  return scan([text])
    .pieces.map((piece) => (typeof piece === "string" ? piece : `{${piece.call.tool}}`))
    .join("");
}

function sourceOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (typeof piece === "string" ? piece : piece.source)).join("");
}

const A = '<capability name="a" />';
const B = '<capability name="b">x</capability>';

describe("a model's text", () => {
  it("keeps everything else", () => {
    for (const text of [
      "",
      "a < b",
      "<capabilities/>",
      "<capability",
      "<b>",
      "<",
      "<<",
      "<!",
      "<!-",
      "</capability>",
    ]) {
      expect(shown(text)).toBe(text);
    }
    expect(shown(`<${A}<<capabil${A}</capability>`)).toBe("<{a}<<capabil{a}</capability>");
  });

  it.each([
    ["without a name", "<capability>x</capability>"],
    ["without quotes", "<capability name=a />"],
    ["with markup in its body", '<capability name="a"><b>x</b></capability>'],
    ["with another tag in an attribute", `<capability name="x" y='${A}'/>`],
    ["that is not finished", '<capability name="a"'],
    ["that is not closed", '<capability name="a">text'],
  ])("keeps a tag %s", (_what, text) => {
    expect(shown(text)).toBe(text);
  });

  it.each([
    "a < b && c",
    "if (a<b) return b[c[0]]>a",
    "R&D &amp;lt; &lt",
    // cline/cline#7698: only XML's own entities are decoded.
    "a&nbsp;b &copy; &bogus;",
    "<!-- prettier-ignore & </capability> ]]> --> x",
    `a <${"b".repeat(200)}>`,
  ])("may contain %j in the body of a tag", (body) => {
    const { pieces } = scan([`<capability name="a" q="R&D\n\tx">${body}</capability>${A}`]);
    const content = body.replace("&amp;", "&");
    const parameters = { q: "R&D\n\tx", content };
    expect(pieces.map((piece) => typeof piece !== "string" && piece.call.parameters)).toEqual([
      parameters,
      {},
    ]);
  });

  it.each(["<b>", "<b/>", "</b>", "<b c='d'>", "<?x", "<!x", "a < b <c>", "< <capability b="])(
    "may not contain markup such as %j in the body of a tag",
    (body) => expect(shown(`<capability name="a">${body}</capability>`)).not.toContain("{a}"),
  );

  it("keeps tags in code, and sees where code ends", () => {
    for (const text of [
      `\`\`\`xml\n${A}\n\`\`\`\n`,
      `~~~\n${B}\n`,
      `Write \`${A}\` so`,
      `\`\`${B}\`\``,
    ]) {
      expect(shown(text)).toBe(text);
    }
    expect(shown(`\`\`\`\n${A}\n\`\`\`\n${A}`)).toBe(`\`\`\`\n${A}\n\`\`\`\n{a}`);
    expect(shown(`\`${A}\` ${A}`)).toBe(`\`${A}\` {a}`);
    expect(shown(`a \` ${A}\n${A}`)).toBe(`a \` ${A}\n{a}`);
  });
});

it("the text that is held back is one tag of at most maxPieceChars characters", () => {
  const around = '<capability name="a"></capability>';
  const tag = (length: number) => around.replace("><", `>${"x".repeat(length - around.length)}<`);
  const { maxPieceChars } = limits;
  expect(shown(tag(maxPieceChars))).toBe("{a}");
  const long = tag(maxPieceChars + 1);
  for (const chunks of [[long], long.match(/.{1,7}/g) ?? []]) {
    const { pieces, mostHeld } = scan(chunks);
    expect(pieces).toEqual([long]);
    expect(mostHeld).toBeLessThan(maxPieceChars);
  }
  expect(shown(`${tag(maxPieceChars * 2)}${A}`)).toBe(`${tag(maxPieceChars * 2)}{a}`);
});

it("the pieces of any text are the same wherever it is split", () => {
  const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(xmlFragment, { maxLength: 40 }), cuts, (parts, where) => {
      const text = parts.join("");
      const { pieces } = scan([text]);
      expect(sourceOf(pieces)).toBe(text);
      expect(scan(text.split("")).pieces).toEqual(pieces);
      const offsets = [0, ...where.map((cut) => cut % (text.length + 1)), text.length];
      offsets.sort((left, right) => left - right);
      const chunks = offsets.slice(1).map((end, index) => text.slice(offsets[index], end));
      expect(scan(chunks).pieces).toEqual(pieces);
    }),
    { numRuns: 2_000 },
  );
});
