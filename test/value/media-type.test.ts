import { expect, it } from "vitest";
import { parseMediaType } from "../../src/value/media-type.ts";

it.each([
  [" Image/PNG ", "image/png", undefined],
  ["text/plain;charset=UTF-8", "text/plain", "UTF-8"],
  ['text/plain ; format=flowed;; CHARSET="utf\\-8" ;', "text/plain", "utf-8"],
  ['a/b; x="; charset=utf-16"; charset=utf-8', "a/b", "utf-8"],
  ["text/plain; charset=utf-8; charset=utf-16", "text/plain", "utf-8"],
])("a media type %s is parsed", (text, essence, charset) => {
  const parsed = parseMediaType(text);
  expect(parsed).toMatchObject({ essence, text: text.trim() });
  expect(parsed?.parameters.get("charset")).toBe(charset);
});

it.each(
  [
    ["", "png", "image/png, text/html", "image/png; charset=x, text/html", "image/png; charset"],
    ["image/png; =x", 'image/png; x="a', 'image/png; x="a"b', "image/png\n; x=a"],
    ['image/png; x="\u20ac"', 'image/png; x="\u0000"', "image/p ng"],
  ].flat(),
)("a media type %j is not parsed", (text) => {
  expect(parseMediaType(text)).toBeUndefined();
});

it.each([" ", ";", "; ", ";a=", ';a="\\', "; a=b", "\t;"])(
  "a media type is parsed in linear time: many of %j",
  (piece) => {
    // A backtracking pattern would not finish.
    expect(parseMediaType(`a/b${piece.repeat(100_000)},`)).toBeUndefined();
  },
);
