import { describe, expect, it } from "vitest";
import { contentKind } from "../src/shell/import-file.ts";

const long = `${"x".repeat(80_000)}`;

describe("the kind of an imported file", () => {
  it.each([
    ['{"type":"byref","version":1}\n{"type":"end"}\n', "export"],
    [`\uFEFF{"type":"byref"}\n${long}`, "export"],
    ['{"a": 1}', "json"],
    ['[\n  {"a": 1}\n]', "json"],
    [`["${long}"]`, "json"],
    ['{"a": 1}\n{"a": 2}\n', "records"],
    ["a,b\n1,2\n", "csv"],
    ['a;b\r\n"1;2";3\r\n', "csv"],
    ["a\tb\n1\t2", "csv"],
    [`a,b\n1,2\n3,${long}`, "csv"],
    ["Only words.", undefined],
    ["One, two.\nThree.", undefined],
    ["", undefined],
    [long, undefined],
  ])("of %j is %s", async (text, kind) => {
    expect(await contentKind(new Blob([text]))).toBe(kind);
  });
});
