import { describe, expect, it } from "vitest";
import { fileContent, type FileFormat } from "../../src/tool/files.ts";
import type { Json } from "../../src/value/json.ts";

const HALF = "\ud83d";

describe("half of a character in a file", () => {
  it.each<[FileFormat, Json, object]>([
    ["csv", [{ a: "x" }, { a: `é${HALF}` }], { path: "[1].a", character: 2 }],
    ["md", [{ a: HALF }], { path: "[0].a", character: 1 }],
    ["md", `a${HALF}`, { path: "", character: 2 }],
    ["txt", `😀${HALF}`, { path: "", character: 2 }],
  ])("is refused with its place in %s", (format, value, details) => {
    const code = "bad_value";
    expect(() => fileContent(value, format)).toThrow(expect.objectContaining({ code, details }));
  });

  it.each<[FileFormat, Json]>([
    ["json", [{ a: HALF }]],
    ["json", HALF],
    ["md", { a: HALF }],
    ["txt", { a: HALF }],
  ])("stays in JSON, in %s", (format, value) => {
    const content = fileContent(value, format);
    expect("text" in content && content.text).toContain(String.raw`\ud83d`);
  });
});
