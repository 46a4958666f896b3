import { describe, expect, it, vi } from "vitest";
import { appliesRange, byteRangeIn, contentRange } from "../../src/edge/http/request-headers.ts";
import { serveStored, serveValue } from "../../src/edge/variables/serve-value.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";

const MAX = Number.MAX_SAFE_INTEGER;
const HUGE = "9".repeat(400);

describe("byteRangeIn", () => {
  it.each([
    ["bytes=0-99", 1_234, { from: 0, to: 100 }],
    ["bytes=0-0", 1_234, { from: 0, to: 1 }],
    ["bytes=100-", 1_234, { from: 100, to: 1_234 }],
    ["bytes=-500", 1_234, { from: 734, to: 1_234 }],
    ["bytes=1233-1233", 1_234, { from: 1_233, to: 1_234 }],
    ["bytes=0-99999", 1_234, { from: 0, to: 1_234 }],
    ["bytes=-1235", 1_234, { from: 0, to: 1_234 }],
    ["bytes=000-0099", 1_234, { from: 0, to: 100 }],
    ["BYTES=0-99", 1_234, { from: 0, to: 100 }],
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
    ["bytes=0-", 0],
    ["bytes=0-0", 0],
    ["bytes=9007199254740992-", MAX],
    [`bytes=${HUGE}-`, 1_234],
    [`bytes=${HUGE}-${HUGE}`, 1_234],
  ])("cannot satisfy %s of %i bytes", (header, size) => {
    expect(byteRangeIn(header, size)).toBe("unsatisfiable");
  });

  it.each([
    null,
    "",
    "bytes",
    "bytes=-",
    "bytes=1",
    "bytes=5-4",
    "bytes=10-9",
    "bytes=5-004",
    `bytes=${HUGE}-5`,
    "bytes=0-9,20-29",
    "bytes 0-9",
    "bytes=0-9x",
    "bytes=0.5-9",
    "bytes=0 - 9",
    "bytes=٠-٩",
    "items=0-9",
    "bytes=0-9\n",
  ])("returns the whole for a missing, invalid or unsupported header: %j", (header) => {
    expect(byteRangeIn(header, 1_234)).toBe("whole");
    expect(byteRangeIn(header, 0)).toBe("whole");
  });
});

it.each([
  [{ from: 0, to: 100 }, 1_234, "bytes 0-99/1234"],
  [{ from: 1_233, to: 1_234 }, 1_234, "bytes 1233-1233/1234"],
  ["unsatisfiable" as const, 1_234, "bytes */1234"],
])("contentRange of %j in %i bytes is %s", (range, size, expected) => {
  expect(contentRange(range, size)).toBe(expected);
});

describe("appliesRange", () => {
  it.each([
    [null, '"1-a"', true],
    ['"1-a"', '"1-a"', true],
    ['"2-b"', '"1-a"', false],
    ['W/"1-a"', '"1-a"', false],
    ['"1-a"', 'W/"1-a"', false],
    ['"1-a", "2-b"', '"1-a"', false],
    ["*", '"1-a"', false],
    ["1-a", '"1-a"', false],
    ["Tue, 15 Nov 1994 12:45:26 GMT", '"1-a"', false],
  ])("If-Range %s at %s: %s", (ifRange, etag, expected) => {
    expect(appliesRange(ifRange, etag)).toBe(expected);
  });
});

it("HEAD reads nothing of a large value, and has no range", async () => {
  const request = new Request("https://byref.example", { method: "HEAD" });
  request.headers.set("range", "bytes=0-9");
  const store = new MemoryStore();
  const info = await store.save({ name: "text", value: "x".repeat(2_000_000) });
  const open = vi.spyOn(store, "open");
  const file = { info, read: vi.fn<() => never>(), close: vi.fn<() => void>() };
  for (const response of [
    await serveValue({ store, csv: undefined }, info, { part: {}, request }),
    await serveStored(file, { mediaType: "text/plain", etag: '"1"' }, request),
  ]) {
    expect([response.status, response.headers.get("accept-ranges")]).toEqual([200, "bytes"]);
  }
  expect([open, file.read, file.close].map(({ mock }) => mock.calls.length)).toEqual([0, 0, 1]);
});
