import { describe, expect, it } from "vitest";
import { figuresBeyond, figuresIn } from "../../src/value/figures.ts";

const found = (text: string) => figuresIn(text).map((figure) => figure.text);

describe("figures in a text", () => {
  it.each([
    ["numbers of two digits or more", "It is 7, 12 or 1.5.", ["12", "1.5"]],
    ["thousands", "1,049,023.99 and 12 345 and 1'000", ["1,049,023.99", "12 345", "1'000"]],
    ["dates and times", "On 2026-03-01 at 10:30.", ["2026-03-01", "10:30"]],
    ["amounts with a unit", "$12, 40%, 30kg, -15", ["12", "40", "30", "15"]],
    ["emphasized and split", "__12__ 1**2**3 1\u200b2 ١٢", ["12", "1**2**3", "1\u200b2", "١٢"]],
    ["not parts of a name", "ord_00009, v2.14, R2-2024, H2O", []],
    ["not list numbers", "10. ten\n  11) eleven\n> 12. twelve\n- 13. more", []],
    [
      "numbers that only look like list numbers",
      "1234. Four\n12.5 is it\nIt was 12. Then",
      ["1234", "12.5", "12"],
    ],
  ])("are %s", (_, text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it("have positions in the text, and are skipped in covered ranges", () => {
    const text = "Total 100 of 2000, so 50.";
    const covered = [{ start: 6, end: 9 }];
    const figures = figuresIn(text, covered);
    expect(figures.map(({ start, end }) => text.slice(start, end))).toEqual(["2000", "50"]);
  });

  it("do not extend across a covered range", () => {
    expect(figuresIn("1x2", [{ start: 1, end: 2 }])).toEqual([]);
    expect(figuresIn("a_b12", [{ start: 1, end: 3 }])).toMatchObject([{ text: "12" }]);
  });

  it("are left out if another text contains them", () => {
    const figures = figuresIn("Of 5,000 orders 20 are late.");
    expect(figuresBeyond(figures, "Which of my 5000 orders?")).toMatchObject([{ text: "20" }]);
  });

  it("are found in linear time in a long text", () => {
    const text = ["1 ".repeat(100_000), "1".repeat(100_000), "1-".repeat(100_000)].join("\n");
    expect(found(text)).toHaveLength(2);
    expect(found(`${" ".repeat(100_000)}12. x`)).toEqual([]);
  });
});
