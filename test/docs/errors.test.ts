import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";

const page = readFileSync("docs/errors.md", "utf8");

it("docs/errors.md lists every code once, with its status, and no others", () => {
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)];
  const told = rows.map(([, code = "", status]) => [code, Number(status)]);
  const codes = Object.entries(errorCodes).map(([code, { status }]) => [code, status]);
  expect(told.toSorted()).toEqual(codes.toSorted());
});

it("docs/errors.md lists only codes that a test provokes", () => {
  const tests = [...testFiles("test"), ...testFiles("packages")].map((file) =>
    readFileSync(file, "utf8"),
  );
  const named = (code: string) => tests.some((text) => new RegExp(`\\b${code}\\b`).test(text));
  expect(Object.keys(errorCodes).filter((code) => !named(code))).toEqual([]);
});

describe("an error about a limit", () => {
  const sources = [...filesIn("src"), ...filesIn("packages")].map((file) =>
    readFileSync(file, "utf8"),
  );

  it("names a constant of src/limits.ts", () => {
    const pattern = /limitExceeded\(\s*"([^"]+)"/g;
    const named = sources.flatMap((text) => Array.from(text.matchAll(pattern), ([, name]) => name));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name = "") => !Object.keys(limits).includes(name))).toEqual([]);
  });

  it("names the constant whose value it reports", () => {
    const pattern = /\["(max\w+)", limits\.(\w+)\]/g;
    const pairs = sources.flatMap((text) => Array.from(text.matchAll(pattern)));
    expect(pairs.length).toBeGreaterThan(3);
    expect(pairs.filter(([, name, constant]) => name !== constant)).toEqual([]);
  });
});

function testFiles(folder: string): readonly string[] {
  return filesIn(folder).filter((name) => name.endsWith(".test.ts"));
}

function filesIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".ts")).map((name) => join(folder, name));
}
