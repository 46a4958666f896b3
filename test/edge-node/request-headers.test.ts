import { describe, expect, it, vi } from "vitest";
import { conditions as conditionSchemas } from "../../src/edge/http/parameters.ts";
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

/** The conditions of a request with these headers, as an endpoint parses them. */
function conditionsOf(ifMatch?: string, ifNoneMatch?: string): Conditions {
  const { "If-Match": match, "If-None-Match": noneMatch } = conditionSchemas();
  return { "If-Match": match.parse(ifMatch), "If-None-Match": noneMatch.parse(ifNoneMatch) };
}

it.each<readonly [ifMatch: string | undefined, ifNoneMatch: string | undefined, string, boolean]>([
  ["*", undefined, '"1-a"', true],
  [" * ", undefined, '"1-a"', true],
  ['"1-a"', undefined, '"1-a"', true],
  ['"0-z", "1-a"', undefined, '"1-a"', true],
  ['"a,b"', undefined, '"a,b"', true],
  [',, "1-a" ,\t', undefined, '"1-a"', true],
  ['""', undefined, '""', true],
  ['"a\\", "b"', undefined, '"b"', true],
  ['"é"', undefined, '"é"', true],
  ["*", undefined, "", false],
  ['"1-a"', undefined, "", false],
  ['"1-a"', undefined, '"2-b"', false],
  // gocd/gocd#10515: a proxy that compresses has weakened it.
  ['W/"1-a"', undefined, '"1-a"', true],
  ['W/"1-a"', undefined, '"2-b"', false],
  ['"a,b"', undefined, '"a"', false],
  ['"1-A"', undefined, '"1-a"', false],
  ['"*"', undefined, '"1-a"', false],
  [undefined, "*", "", true],
  [undefined, '"1-a"', "", true],
  [undefined, '"1-a"', '"2-b"', true],
  [undefined, "*", '"1-a"', false],
  [undefined, '"1-a"', '"1-a"', false],
  [undefined, '"0-z", W/"1-a", "2-b"', '"1-a"', false],
  ['"1-a"', '"2-b"', '"1-a"', true],
  ["*", '"1-a"', '"1-a"', false],
  ["*", "*", "", false],
])(
  "a write with If-Match %s and If-None-Match %s at %s happens: %s",
  (match, none, at, happens) => {
    const conditions = conditionsOf(match, none);
    const etag = at === "" ? undefined : at;
    const error = errorOf(() => requireConditions(conditions, etag));
    expect(error?.code).toBe(happens ? undefined : "precondition_failed");
    // Of a read that has the representation already.
    const isRead = match === undefined && etag !== undefined;
    if (isRead) expect(isNotModified(conditions, etag)).toBe(!happens);
  },
);

it.each([
  [conditionsOf('"1-a"'), /current etag is "2-b".*If-Match does not name/u],
  [conditionsOf(undefined, "*"), /current etag is "2-b".*If-None-Match rules out/u],
])("a failed precondition names the current etag and what to do next: %j", (conditions, said) => {
  const error = errorOf(() => requireConditions(conditions, '"2-b"'));
  expect(error?.message).toMatch(said);
  expect(error?.message).toContain("read it again and send its etag as If-Match");
  expect(error?.details).toEqual({ etag: '"2-b"' });
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
  for (const [header, read] of [
    ["If-Match", () => conditionsOf(value)],
    ["If-None-Match", () => conditionsOf(undefined, value)],
  ] as const) {
    const error = errorOf(read);
    expect(error).toMatchObject({ code: "bad_request", details: { header, at } });
    expect(error?.message).toContain(`${header} is not readable at character ${at}:`);
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
    await serveValue({ store, csv: undefined }, info, {}, { request }),
    await serveStored(file, { mediaType: "text/plain", etag: '"1"' }, { request }),
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
