import { describe, expect, it } from "vitest";
import { conditions as conditionSchemas } from "../../src/edge/http/parameters.ts";
import {
  byteRangeIn,
  type Conditions,
  names,
  preferred,
  requireConditions,
} from "../../src/edge/http/request-headers.ts";
import { serveStored } from "../../src/edge/variables/serve-value.ts";
import { ByrefError } from "../../src/errors.ts";

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
    if (isRead) expect(names(conditions["If-None-Match"] ?? [], etag)).toBe(!happens);
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
  "",
  ",, ,",
  "1-a",
  '"1-a',
  'w/"1-a"',
  "'1-a'",
  '*, "1-a"',
  '"1-a" "2-b"',
  '"1-a"x',
  '"1 a"',
  '"1-a", "2-b',
  `"1-a"${",".repeat(100_000)}x`,
])("a malformed condition is refused, with its header: %j", (value) => {
  for (const [header, read] of [
    ["If-Match", () => conditionsOf(value)],
    ["If-None-Match", () => conditionsOf(undefined, value)],
  ] as const) {
    expect(errorOf(read)).toMatchObject({ code: "bad_request", details: { header } });
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
    ["GET", null, 206],
    ["GET", '"1-a"', 206],
    ["GET", '"2-b"', 200],
    ["GET", 'W/"1-a"', 200],
    ["GET", '"1-a", "2-b"', 200],
    ["GET", "*", 200],
    ["GET", "1-a", 200],
    ["GET", "Tue, 15 Nov 1994 12:45:26 GMT", 200],
    ["HEAD", null, 200],
  ])("of %s with If-Range %s answers %i", async (method, ifRange, status) => {
    const headers = { range: "bytes=0-0", ...(ifRange !== null && { "if-range": ifRange }) };
    const request = new Request("https://byref.example", { method, headers });
    const read = async () => new Uint8Array(1);
    const file = { info: { bytes: 3 }, read, close: () => undefined };
    const served = { mediaType: "image/png", etag: '"1-a"' };
    const response = await serveStored(file, served, { request });
    expect([response.status, response.headers.get("accept-ranges")]).toEqual([status, "bytes"]);
  });
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
