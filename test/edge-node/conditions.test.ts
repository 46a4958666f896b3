import { describe, expect, it } from "vitest";
import {
  type Conditions,
  conditionsIn,
  isNotModified,
  requireConditions,
} from "../../src/edge/http/request-headers.ts";
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

function failureOf(conditions: Conditions, currentEtag: string | undefined) {
  return errorOf(() => requireConditions(conditions, currentEtag))?.code;
}

describe("conditionsIn", () => {
  it("takes the two headers unchanged, and leaves out missing ones", () => {
    expect(conditionsIn(new Headers())).toEqual({});
    expect(conditionsIn(new Headers({ "If-Match": '"1-a"' }))).toEqual({ ifMatch: '"1-a"' });
    expect(conditionsIn(new Headers({ "If-None-Match": "*" }))).toEqual({ ifNoneMatch: "*" });
  });

  it("takes a header that was sent twice as one list", () => {
    const headers = new Headers();
    headers.append("If-Match", '"1-a"');
    headers.append("If-Match", '"2-b"');
    expect(failureOf(conditionsIn(headers), '"2-b"')).toBeUndefined();
  });
});

describe("a write with If-Match", () => {
  it.each([
    ["*", '"1-a"'],
    [" * ", '"1-a"'],
    ["*", 'W/"1-a"'],
    ['"1-a"', '"1-a"'],
    ['"0-z", "1-a"', '"1-a"'],
    ['W/"1-a", "1-a"', '"1-a"'],
    ['"a,b"', '"a,b"'],
    [',, "1-a" ,\t', '"1-a"'],
    ['""', '""'],
    ['"a\\", "b"', '"b"'],
    ['"é"', '"é"'],
  ])("%s succeeds at %s", (ifMatch, current) => {
    expect(failureOf({ ifMatch }, current)).toBeUndefined();
  });

  it.each([
    ["*", undefined],
    ['"1-a"', undefined],
    ['"1-a"', '"2-b"'],
    ['W/"1-a"', '"1-a"'],
    ['"1-a"', 'W/"1-a"'],
    ['W/"1-a"', 'W/"1-a"'],
    ['"a,b"', '"a"'],
    ['"1-A"', '"1-a"'],
    ['"*"', '"1-a"'],
  ])("%s fails at %s", (ifMatch, current) => {
    expect(failureOf({ ifMatch }, current)).toBe("precondition_failed");
  });
});

describe("a write with If-None-Match", () => {
  it.each([
    ["*", undefined],
    ['"1-a"', undefined],
    ['"1-a"', '"2-b"'],
    ['"a,b"', '"a"'],
    ['"*"', '"1-a"'],
  ])("%s succeeds at %s", (ifNoneMatch, current) => {
    expect(failureOf({ ifNoneMatch }, current)).toBeUndefined();
  });

  it.each([
    ["*", '"1-a"'],
    ["*", 'W/"1-a"'],
    ['"1-a"', '"1-a"'],
    ['W/"1-a"', '"1-a"'],
    ['"1-a"', 'W/"1-a"'],
  ])("%s fails at %s", (ifNoneMatch, current) => {
    expect(failureOf({ ifNoneMatch }, current)).toBe("precondition_failed");
  });
});

it("a write must meet both conditions if both are given", () => {
  expect(failureOf({ ifMatch: '"1-a"', ifNoneMatch: '"2-b"' }, '"1-a"')).toBeUndefined();
  expect(failureOf({ ifMatch: "*", ifNoneMatch: '"1-a"' }, '"1-a"')).toBe("precondition_failed");
  expect(failureOf({ ifMatch: "*", ifNoneMatch: "*" }, undefined)).toBe("precondition_failed");
  expect(failureOf({ ifMatch: "*", ifNoneMatch: "*" }, '"1-a"')).toBe("precondition_failed");
});

describe("a failed precondition", () => {
  it.each([
    { ifMatch: '"1-a"', current: '"2-b"', said: /current etag is "2-b".*If-Match does not name/u },
    { ifNoneMatch: "*", current: '"2-b"', said: /current etag is "2-b".*If-None-Match rules out/u },
  ])("names the current etag and what to do next: %j", ({ current, said, ...conditions }) => {
    const error = errorOf(() => requireConditions(conditions, current));
    expect(error?.message).toMatch(said);
    expect(error?.message).toContain("read it again and send its etag as If-Match");
    expect(error?.details).toEqual({ etag: current });
  });
});

it.each([
  ["*", '"1-a"', true],
  ['"1-a"', '"1-a"', true],
  ['W/"1-a"', '"1-a"', true],
  ['"1-a"', 'W/"1-a"', true],
  ['"0-z", W/"1-a", "2-b"', '"1-a"', true],
  ['"1-a"', '"2-b"', false],
  ['"a,b"', '"b"', false],
])("a read with If-None-Match %s of %s: not modified is %s", (ifNoneMatch, etag, expected) => {
  expect(isNotModified({ ifNoneMatch }, etag)).toBe(expected);
});

describe("a malformed condition", () => {
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
  ])("is refused, with its header: %j", (value) => {
    for (const currentEtag of ['"1-a"', undefined]) {
      const match = errorOf(() => requireConditions({ ifMatch: value }, currentEtag));
      expect(match).toMatchObject({ code: "bad_request", details: { header: "If-Match" } });
      expect(match?.message).toContain("If-Match is not readable:");
    }
    const noneMatch = { code: "bad_request", details: { header: "If-None-Match" } };
    expect(errorOf(() => requireConditions({ ifNoneMatch: value }, undefined))).toMatchObject(
      noneMatch,
    );
    expect(errorOf(() => isNotModified({ ifNoneMatch: value }, '"1-a"'))).toMatchObject(noneMatch);
  });
});
