import { describe, expect, it, vi } from "vitest";
import {
  appliesRange,
  byteRangeIn,
  type Conditions,
  isNotModified,
  preferred,
  requireConditions,
} from "../../src/edge/http/request-headers.ts";
import { serveStored, serveValue } from "../../src/edge/variables/serve-value.ts";
import { ByrefError } from "../../src/errors.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";

function errorOf(run: () => unknown): ByrefError | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof ByrefError) return error;
    throw error;
  }
}

it.each<readonly [Conditions, string | undefined, boolean]>([
  [{ ifMatch: "*" }, '"1-a"', true],
  [{ ifMatch: " * " }, '"1-a"', true],
  [{ ifMatch: '"1-a"' }, '"1-a"', true],
  [{ ifMatch: '"0-z", "1-a"' }, '"1-a"', true],
  [{ ifMatch: '"a,b"' }, '"a,b"', true],
  [{ ifMatch: ',, "1-a" ,\t' }, '"1-a"', true],
  [{ ifMatch: '""' }, '""', true],
  [{ ifMatch: '"a\\", "b"' }, '"b"', true],
  [{ ifMatch: '"é"' }, '"é"', true],
  [{ ifMatch: "*" }, undefined, false],
  [{ ifMatch: '"1-a"' }, undefined, false],
  [{ ifMatch: '"1-a"' }, '"2-b"', false],
  // gocd/gocd#10515: a proxy that compresses has weakened it.
  [{ ifMatch: 'W/"1-a"' }, '"1-a"', true],
  [{ ifMatch: 'W/"1-a"' }, '"2-b"', false],
  [{ ifMatch: '"a,b"' }, '"a"', false],
  [{ ifMatch: '"1-A"' }, '"1-a"', false],
  [{ ifMatch: '"*"' }, '"1-a"', false],
  [{ ifNoneMatch: "*" }, undefined, true],
  [{ ifNoneMatch: '"1-a"' }, undefined, true],
  [{ ifNoneMatch: '"1-a"' }, '"2-b"', true],
  [{ ifNoneMatch: "*" }, '"1-a"', false],
  [{ ifNoneMatch: '"1-a"' }, '"1-a"', false],
  [{ ifNoneMatch: '"0-z", W/"1-a", "2-b"' }, '"1-a"', false],
  [{ ifMatch: '"1-a"', ifNoneMatch: '"2-b"' }, '"1-a"', true],
  [{ ifMatch: "*", ifNoneMatch: '"1-a"' }, '"1-a"', false],
  [{ ifMatch: "*", ifNoneMatch: "*" }, undefined, false],
])("a write with %j at %s happens: %s", (conditions, etag, happens) => {
  const code = errorOf(() => requireConditions(conditions, etag))?.code;
  expect(code).toBe(happens ? undefined : "precondition_failed");
  // Of a read that has the representation already.
  const isRead = conditions.ifMatch === undefined && etag !== undefined;
  if (isRead) expect(isNotModified(conditions, etag)).toBe(!happens);
});

it.each([
  { ifMatch: '"1-a"', current: '"2-b"', said: /current etag is "2-b".*If-Match does not name/u },
  { ifNoneMatch: "*", current: '"2-b"', said: /current etag is "2-b".*If-None-Match rules out/u },
])("a failed precondition names the current etag and what to do next: %j", (row) => {
  const { current, said, ...conditions } = row;
  const error = errorOf(() => requireConditions(conditions, current));
  expect(error?.message).toMatch(said);
  expect(error?.message).toContain("read it again and send its etag as If-Match");
  expect(error?.details).toEqual({ etag: current });
});

it.each([
  ["", 0],
  [",, ,", 0],
  ["1-a", 0],
  ['"1-a', 0],
  ['w/"1-a"', 0],
  ["'1-a'", 0],
  ['*, "1-a"', 0],
  ['"1-a" "2-b"', 6],
  ['"1-a"x', 5],
  ['"1 a"', 0],
  ['"1-a", "2-b', 7],
  [`"1-a"${",".repeat(100_000)}x`, 100_005],
])("a malformed condition is refused, with its header and place: %j", (value, at) => {
  const problem = (header: string) => ({ code: "bad_request", details: { header, at } });
  for (const etag of ['"1-a"', undefined]) {
    const match = errorOf(() => requireConditions({ ifMatch: value }, etag));
    expect(match).toMatchObject(problem("If-Match"));
    expect(match?.message).toContain(`If-Match is not readable at character ${at}:`);
  }
  for (const run of [
    () => requireConditions({ ifNoneMatch: value }, undefined),
    () => isNotModified({ ifNoneMatch: value }, '"1-a"'),
  ]) {
    expect(errorOf(run)).toMatchObject(problem("If-None-Match"));
  }
});

const MAX = Number.MAX_SAFE_INTEGER;
const HUGE = "9".repeat(400);

describe("a range of bytes", () => {
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
    ["bytes=1234-", 1_234, "unsatisfiable"],
    ["bytes=-0", 1_234, "unsatisfiable"],
    ["bytes=0-", 0, "unsatisfiable"],
    ["bytes=0-0", 0, "unsatisfiable"],
    ["bytes=9007199254740992-", MAX, "unsatisfiable"],
    [`bytes=${HUGE}-`, 1_234, "unsatisfiable"],
  ])("%s of %i bytes is %j", (header, size, range) => {
    expect(byteRangeIn(header, size)).toEqual(range);
  });

  const whole =
    "|bytes|bytes=-|bytes=1|bytes=5-4|bytes=10-9|bytes=5-004|bytes=0-9,20-29|bytes 0-9|bytes=0-9x|" +
    `bytes=0.5-9|bytes=0 - 9|bytes=٠-٩|items=0-9|bytes=0-9\n|bytes=${HUGE}-5`;

  it.each([null, ...whole.split("|")])("is the whole if it is not supported: %j", (header) => {
    expect([byteRangeIn(header, 1_234), byteRangeIn(header, 0)]).toEqual(["whole", "whole"]);
  });

  it.each([
    [null, '"1-a"', true],
    ['"1-a"', '"1-a"', true],
    ['"2-b"', '"1-a"', false],
    ['W/"1-a"', '"1-a"', false],
    ['"1-a", "2-b"', '"1-a"', false],
    ["*", '"1-a"', false],
    ["1-a", '"1-a"', false],
    ["Tue, 15 Nov 1994 12:45:26 GMT", '"1-a"', false],
  ])("applies with If-Range %s at %s: %s", (ifRange, etag, expected) => {
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
    await serveValue({ store, csv: undefined }, info, {}, request),
    await serveStored(file, { mediaType: "text/plain", etag: '"1"' }, request),
  ]) {
    expect([response.status, response.headers.get("accept-ranges")]).toEqual([200, "bytes"]);
  }
  expect([open, file.read, file.close].map(({ mock }) => mock.calls.length)).toEqual([0, 0, 1]);
});

const JSON_TYPE = "application/json";
const NDJSON = "application/x-ndjson";
const TEXT = "text/plain";

it.each([
  [undefined, JSON_TYPE],
  [null, JSON_TYPE],
  ["", JSON_TYPE],
  ["*/*", JSON_TYPE],
  [NDJSON, NDJSON],
  ["Application/X-NDJSON", NDJSON],
  [`${JSON_TYPE}, ${NDJSON}`, JSON_TYPE],
  [`${NDJSON}, ${JSON_TYPE}`, JSON_TYPE],
  [`${JSON_TYPE};q=0.5, ${NDJSON}`, NDJSON],
  [`${NDJSON};q=0.9, ${JSON_TYPE};q=0.8, */*`, TEXT],
  [`${NDJSON};q=0.001, */*;q=0`, NDJSON],
  [`${JSON_TYPE};q=0, */*`, NDJSON],
  [`${JSON_TYPE};q=0`, JSON_TYPE],
  ["application/*;q=0.2, text/*;q=0.3", TEXT],
  [`application/*, ${JSON_TYPE};q=0.1`, NDJSON],
  ["*/*, text/plain", TEXT],
  ["text/html, application/xhtml+xml, */*;q=0.8", JSON_TYPE],
  ["image/png", JSON_TYPE],
  [`x${NDJSON}`, JSON_TYPE],
  [`${TEXT};q=0.5;x="${NDJSON}"`, TEXT],
  [`${NDJSON}; q=1; version=2`, NDJSON],
  [",;q=,,", JSON_TYPE],
])("the preferred media type of three for %s is %s", (accept, type) => {
  expect(preferred(accept, [JSON_TYPE, NDJSON, TEXT])).toBe(type);
});
