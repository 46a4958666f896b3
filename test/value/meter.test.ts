import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { spanOf } from "../../src/value/marks.ts";
import { TextMeter } from "../../src/value/text-meter.ts";
import { previewOf } from "../../src/value/preview.ts";
import { cuts, faultsOf, longCuts, runMeter } from "../support/run-meter.ts";
import { sampled, samples } from "../support/slow.ts";

const runText = (text: string, lengths?: readonly number[]) =>
  runMeter(new TextMeter(), Buffer.from(text), lengths);

describe("a text meter", () => {
  const character = fc.constantFrom("a", "b", "\n", "\0", "é", "語", "\uFEFF", "😀", "\u{10FFFF}");
  const text = fc.string({ unit: character, maxLength: 700, size: "max" });
  const largeText = fc
    .tuple(fc.string({ unit: character, maxLength: 9 }), text, fc.integer({ min: 1, max: 6_000 }))
    .map(([start, unit, times]) => start + unit.repeat(times).slice(0, 400_000).toWellFormed());

  const expectAbout = (whole: string) => ({
    type: "string",
    count: Array.from(whole).length,
    bytes: Buffer.byteLength(whole),
    chars: whole.length,
    shape: "string",
    preview: previewOf(whole),
  });

  it("describes any text like the whole, wherever it is split", () => {
    const property = fc.property(text, cuts, (whole, lengths) => {
      const { about } = runText(whole, lengths);
      expect(about).toEqual(expectAbout(whole));
    });
    fc.assert(property, { numRuns: 300 });
  });

  it("marks characters so that any slice can be read from its span", sampled, () => {
    const property = fc.property(largeText, longCuts, fc.nat(), fc.nat(), (...given) => {
      const [whole, lengths, one, other] = given;
      const { stored, about, marks } = runText(whole, lengths);
      expect(faultsOf(marks, { bytes: about.bytes, slack: 3 })).toEqual([]);
      const characters = Array.from(whole);
      expect(about.count).toBe(characters.length);
      const [from = 0, to = 0] = [one, other]
        .map((at) => at % (characters.length + 1))
        .sort((a, b) => a - b);
      const span = spanOf(marks, about, { from, to });
      const read = Array.from(
        new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
          stored.subarray(span.fromByte, span.toByte),
        ),
      );
      const slice = read.slice(from - span.firstCount, to - span.firstCount).join("");
      expect(slice === characters.slice(from, to).join("")).toBe(true);
    });
    fc.assert(property, { numRuns: samples(40) });
  });

  it.each<[name: string, bytes: readonly number[], byte?: number]>([
    ["a byte that is never valid", [0x61, 0xff]],
    ["one after a character that may be split", [0x61, 0xc3, 0xa9, 0xff], 4],
    ["a lone continuation byte", [0x61, 0x80, 0x61]],
    ["a surplus continuation byte", [0xc3, 0xa9, 0xa9]],
    ["a character truncated by the end", [0x61, 0xe2, 0x82]],
    ["a character truncated by another", [0xf0, 0x9f, 0x98, 0x61]],
    ["an overlong encoding", [0xc0, 0xaf]],
    ["half a surrogate pair", [0xed, 0xa0, 0x80]],
    ["a code point beyond Unicode", [0xf4, 0x90, 0x80, 0x80]],
  ])("refuses %s, wherever it is split", (_name, bytes, byte = expect.any(Number)) => {
    for (const lengths of [[1], [2], [3], [Infinity]]) {
      expect(() => runMeter(new TextMeter(), Uint8Array.from(bytes), lengths)).toThrow(
        expect.objectContaining({ code: "bad_value", details: { byte } }),
      );
    }
  });
});
