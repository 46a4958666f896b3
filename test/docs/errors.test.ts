import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../src/errors.ts";

const page = readFileSync("docs/errors.md", "utf8");

describe("docs/errors.md", () => {
  it("has every code once, with its status, and no other", () => {
    const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)];
    const told = rows.map(([, code = "", status]) => [code, Number(status)]);
    const codes = Object.entries(errorCodes).map(([code, { status }]) => [code, status]);
    expect(told.toSorted()).toEqual(codes.toSorted());
  });

  it("is right that each of them is provoked by a test", () => {
    const tests = testFiles("test").map((file) => readFileSync(file, "utf8"));
    const named = (code: string) => tests.some((text) => new RegExp(`\\b${code}\\b`).test(text));
    expect(Object.keys(errorCodes).filter((code) => !named(code))).toEqual([]);
  });
});

function testFiles(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".test.ts")).map((name) => join(folder, name));
}
