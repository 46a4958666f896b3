import { describe, expect, it } from "vitest";
import {
  ageWords,
  durationWords,
  fileName,
  isShownImage,
  jsonIn,
  labelsOf,
  lifeOf,
  messageIn,
  numberWords,
  secondsIn,
  troubleOf,
} from "../src/words.ts";
import { tokensOf } from "../src/meter/turn-costs.ts";

const START = "2026-01-01T00:00:00.000Z";
const now = Date.parse(START);
const later = (seconds: number) => new Date(now + seconds * 1_000).toISOString();

describe("time in words", () => {
  it("uses the largest unit that fits", () => {
    const words = [0, 59, 60, 3_599, 3_600, 86_399, 86_400].map((s) => durationWords(s * 1_000));
    expect(words).toEqual(["1 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d"]);
    expect(ageWords(START, now + 9_000)).toBe("now");
    expect(ageWords(START, now + 10_000)).toBe("10 s");
  });

  it("says when a variable expires and how much of its life is left", () => {
    const info = { updatedAt: START, expiresAt: later(240), pinned: false };
    expect(lifeOf(info, now + 60_000)).toEqual({ left: 0.75, words: "expires in 3 min" });
    expect(lifeOf(info, now + 300_000)).toEqual({ left: 0, words: "expires now" });
    // The share is at most 1, also if the clock is behind the server's.
    expect(lifeOf({ ...info, updatedAt: later(200) }, now)?.left).toBe(1);
    expect(lifeOf({ ...info, pinned: true }, now)).toBeUndefined();
    expect(lifeOf({ updatedAt: START, pinned: false }, now)).toBeUndefined();
  });

  it.each([
    ["", null],
    ["1.5 min", 90],
    ["2h", 7_200],
    ["3 D", 259_200],
    ["0", undefined],
    ["-1 h", undefined],
  ])("is parsed from %j", (text, seconds) => {
    expect(secondsIn(text)).toBe(seconds);
  });
});

it.each([
  ["  a\n    b  \n", "  a\n    b"],
  ["\n \n  def f():\n    pass\n\n", "  def f():\n    pass"],
  [" \n\t\n ", ""],
])(
  "a message keeps the indentation of its first line: %j (sdelements/lets-chat#391)",
  (draft, sent) => {
    expect(messageIn(draft)).toBe(sent);
  },
);

it("numbers that a double does not give back keep their digits", () => {
  expect(jsonIn('{"id":1234567890123456789,"n":-1.50}')).toEqual({
    id: "1234567890123456789",
    n: -1.5,
  });
});

it("labels name only unusual properties", () => {
  expect(labelsOf({ visibility: "model", trusted: true, scope: "conversation" })).toEqual([]);
  const labels = labelsOf({ visibility: "sealed", trusted: false, scope: "run" });
  expect(labels.map(({ name, isWarning }) => [name, isWarning])).toEqual([
    ["sealed", false],
    ["untrusted", true],
    ["run", false],
  ]);
});

it("a lost connection is described without the browser's own error", () => {
  const trouble = troubleOf(new TypeError("Failed to fetch"));
  expect(trouble).toMatchObject({ code: "unreachable", title: "The server cannot be reached." });
  expect(trouble.detail).not.toMatch(/TypeError|fetch/);
});

it.each([
  [1_049_023.99, "total", "1,049,023.99"],
  [-5_000, "total", "-5,000"],
  [0.1 + 0.2, "share", "0.3"],
  [9_007_199_254_740_991, "total", "9007199254740991"],
  [1e21, "total", "1e+21"],
  [1e-9, "share", "1e-9"],
  [0, "total", "0"],
  // Names and years are not amounts.
  [2_025, "year", "2025"],
  [10_482, "order_id", "10482"],
  [10_482, "customerId", "10482"],
  [10_482, "id", "10482"],
  [10_482, "paid", "10,482"],
])("a number %d of the column %s is written %s", (value, column, words) => {
  expect(numberWords(value, column)).toBe(words);
});

it.each([
  ["application/x-ndjson", "v.json", false],
  ["text/csv;delimiter=semicolon", "v.csv", false],
  ["image/JPEG", "v.jpg", true],
  ["image/svg+xml", "v.svg", false],
  ["nonsense/", "v.bin", false],
  // marimo-team/marimo#8068
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "v.xlsx", false],
])("a download of %s is named %s, and that it is shown is %s", (mediaType, name, isShown) => {
  expect(fileName({ name: "v", mediaType })).toBe(name);
  expect(isShownImage(mediaType)).toBe(isShown);
});

it("tokens are estimated if the provider reports none", () => {
  const prompt = { promptChars: 1_562, inlinePromptChars: 4_000 };
  expect(tokensOf(prompt, undefined)).toMatchObject({ sent: 391, inline: 1_000 });
  expect(tokensOf({ promptChars: 0, inlinePromptChars: 0 }, 0)).toMatchObject({ inline: 0 });
});
