import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { jsonContent } from "../../src/store/bytes/content.ts";

it("jsonContent accepts a text of exactly maxValueBytes, and refuses another byte", () => {
  const maximum = limits.maxValueBytes;
  expect(jsonContent("x".repeat(maximum)).about.bytes).toBe(maximum);
  const details = { limit: "maxValueBytes", maximum, actual: maximum + 1 };
  expect(() => jsonContent("x".repeat(maximum + 1))).toThrow(
    expect.objectContaining({ code: "limit_exceeded", details }),
  );
});
