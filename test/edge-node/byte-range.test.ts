import { describe, expect, it } from "vitest";
import { appliesRange, byteRangeIn, contentRange } from "../../src/edge/http/request-headers.ts";

const MAX = Number.MAX_SAFE_INTEGER;
const HUGE = "9".repeat(400);

describe("byteRangeIn", () => {
  it.each([
    ["bytes=0-99", 1_234, { from: 0, to: 100 }],
    ["bytes=0-0", 1_234, { from: 0, to: 1 }],
    ["bytes=100-", 1_234, { from: 100, to: 1_234 }],
    ["bytes=0-", 1_234, { from: 0, to: 1_234 }],
    ["bytes=-500", 1_234, { from: 734, to: 1_234 }],
    ["bytes=-1", 1_234, { from: 1_233, to: 1_234 }],
    ["bytes=1233-1233", 1_234, { from: 1_233, to: 1_234 }],
    ["bytes=1233-1234", 1_234, { from: 1_233, to: 1_234 }],
    ["bytes=0-99999", 1_234, { from: 0, to: 1_234 }],
    ["bytes=-1234", 1_234, { from: 0, to: 1_234 }],
    ["bytes=-1235", 1_234, { from: 0, to: 1_234 }],
    ["bytes=000-0099", 1_234, { from: 0, to: 100 }],
    ["BYTES=0-99", 1_234, { from: 0, to: 100 }],
    ["bytes=0-0", 1, { from: 0, to: 1 }],
    ["bytes=0-9007199254740991", 1_234, { from: 0, to: 1_234 }],
    ["bytes=5-9007199254740993", 1_234, { from: 5, to: 1_234 }],
    ["bytes=-9007199254740993", 1_234, { from: 0, to: 1_234 }],
    [`bytes=5-${HUGE}`, 1_234, { from: 5, to: 1_234 }],
    [`bytes=-${HUGE}`, 1_234, { from: 0, to: 1_234 }],
    ["bytes=9007199254740990-9007199254740990", MAX, { from: MAX - 1, to: MAX }],
  ])("takes %s of %i bytes as %j", (header, size, range) => {
    expect(byteRangeIn(header, size)).toEqual(range);
  });

  it.each([
    ["bytes=1234-", 1_234],
    ["bytes=1234-1300", 1_234],
    ["bytes=-0", 1_234],
    ["bytes=-000", 1_234],
    ["bytes=0-", 0],
    ["bytes=0-0", 0],
    ["bytes=-0", 0],
    ["bytes=9007199254740992-", MAX],
    ["bytes=9007199254740992-9007199254740993", 1_234],
    [`bytes=${HUGE}-`, 1_234],
    [`bytes=${HUGE}-${HUGE}`, 1_234],
    [`bytes=${HUGE}-0${HUGE}`, 1_234],
  ])("cannot satisfy %s of %i bytes", (header, size) => {
    expect(byteRangeIn(header, size)).toBe("unsatisfiable");
  });

  it.each([
    null,
    "",
    "bytes",
    "bytes=",
    "bytes=-",
    "bytes=--1",
    "bytes=1",
    "bytes=5-4",
    "bytes=10-9",
    "bytes=5-004",
    "bytes=9007199254740993-9007199254740992",
    `bytes=${HUGE}-5`,
    "bytes=0-9,20-29",
    "bytes=0-9, -5",
    "bytes 0-9",
    "bytes: 0-9",
    "bytes=0-9x",
    "xbytes=0-9",
    "bytes=0x0-0x9",
    "bytes=1e3-",
    "bytes=0.5-9",
    "bytes=+1-9",
    "bytes=a-b",
    "bytes=0 - 9",
    "bytes=٠-٩",
    "byteſ=0-9",
    "items=0-9",
    "bytes=0-9\n",
  ])("returns the whole for a missing, invalid or unsupported header: %j", (header) => {
    expect(byteRangeIn(header, 1_234)).toBe("whole");
    expect(byteRangeIn(header, 0)).toBe("whole");
  });
});

it.each([
  [{ from: 0, to: 100 }, 1_234, "bytes 0-99/1234"],
  [{ from: 0, to: 1 }, 1, "bytes 0-0/1"],
  [{ from: 1_233, to: 1_234 }, 1_234, "bytes 1233-1233/1234"],
  ["unsatisfiable" as const, 1_234, "bytes */1234"],
  ["unsatisfiable" as const, 0, "bytes */0"],
])("contentRange of %j in %i bytes is %s", (range, size, expected) => {
  expect(contentRange(range, size)).toBe(expected);
});

describe("appliesRange", () => {
  it.each([
    [null, '"1-a"', true],
    [null, 'W/"1-a"', true],
    ['"1-a"', '"1-a"', true],
    ['"2-b"', '"1-a"', false],
    ['W/"1-a"', '"1-a"', false],
    ['"1-a"', 'W/"1-a"', false],
    ['W/"1-a"', 'W/"1-a"', false],
    ['"1-a", "2-b"', '"1-a"', false],
    ["*", '"1-a"', false],
    ["", '"1-a"', false],
    ["1-a", '"1-a"', false],
    ["Tue, 15 Nov 1994 12:45:26 GMT", '"1-a"', false],
  ])("If-Range %s at %s: %s", (ifRange, etag, expected) => {
    expect(appliesRange(ifRange, etag)).toBe(expected);
  });
});
