import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import {
  blocksIn,
  type Code,
  languagesIn,
  regionOf,
  regionsIn,
  UNCHECKED,
} from "../support/guide-code.ts";

const root = join(import.meta.dirname, "../..");
const guides = globSync("docs/guides/*.md", { cwd: root }).map((path) => basename(path, ".md"));
const tested = globSync("test/{,edge/,edge-node/}guides/*.test.ts", { cwd: root });
const names = new Set([...guides, ...tested.map((path) => basename(path, ".test.ts"))]);
names.delete("guide-code");

/** Template files, which their own tests run. A guide may show a whole file. */
const templateFiles = globSync("create-byref/templates/*/src/*.ts", { cwd: root }).flatMap((path) =>
  blocksIn(`\`\`\`ts\n${readFileSync(join(root, path), "utf8")}\`\`\`\n`),
);

function isTemplateFile(block: Code): boolean {
  return templateFiles.some((file) => isDeepStrictEqual(file, block));
}

/** Returns the imports and regions of one guide's tests. */
function testsOf(name: string) {
  const files = globSync(
    [`test/{,edge/,edge-node/}guides/${name}.test.ts`, `examples/*/test/${name}.test.ts`],
    { cwd: root },
  );
  const each = files.map((path) => regionsIn(readFileSync(join(root, path), "utf8")));
  return { each, regions: each.flatMap(({ regions }) => [...regions]) };
}

function guide(name: string): string {
  const path = join(root, `docs/guides/${name}.md`);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

describe.each([...names])("the guide %s", (name) => {
  const blocks = blocksIn(guide(name));
  const { each, regions } = testsOf(name);

  it("shows only code that its tests run", () => {
    const notRun = blocks.filter(({ imports, text }) => {
      if (isTemplateFile({ imports, text })) return false;
      const file = each.find(({ regions }) => regionOf({ imports, text }, regions) !== undefined);
      return file === undefined || imports.some((one) => !file.imports.includes(one));
    });
    expect(notRun.map(({ imports, text }) => [...imports, text].join("\n"))).toEqual([]);
    expect(languagesIn(guide(name)).filter((language) => UNCHECKED.has(language))).toEqual([]);
  });

  it("shows everything that its tests mark for it", () => {
    const shown = new Set(blocks.map(({ text }) => text));
    const left = regions.filter(([, { text }]) => !shown.has(text));
    expect(left.map(([title]) => title)).toEqual([]);
  });
});

it("each guide is listed in the index", () => {
  const listed = Array.from(guide("README").matchAll(/\]\(([\w-]+)\.md\)/g), ([, name]) => name);
  expect(listed.toSorted()).toEqual(
    expect.arrayContaining(guides.filter((one) => one !== "README")),
  );
});

describe("the code in guides", () => {
  const markdown = [
    "A guide.",
    "```ts",
    'import { tool, type Tool } from "ai";',
    'import * as z from "zod";',
    "",
    "const a = z;",
    "if (a) tool(a);",
    "```",
    "1. in a list",
    "   ```ts",
    "   const b = 1;",
    "   ```",
    "```sh",
    "ls",
    "```",
  ].join("\n");
  const [first, second] = blocksIn(markdown);

  it("is read from Markdown, with separate imports", () => {
    expect(blocksIn(markdown)).toEqual([
      { imports: ["ai tool", "ai Tool", "zod * as z"], text: "const a = z;\nif (a) tool(a);" },
      { imports: [], text: "const b = 1;" },
    ]);
    expect(languagesIn(markdown)).toEqual(["ts", "ts", "sh"]);
  });

  it("is found in a test at any indentation", () => {
    const source = [
      'import { tool } from "ai";',
      'it("runs", () => {',
      "  // --- the first",
      "  const a = z;",
      "  if (a) tool(a);",
      "  // ---",
      "});",
    ].join("\n");
    const { imports, regions } = regionsIn(source);
    expect(imports).toEqual(["ai tool"]);
    expect(first === undefined || regionOf(first, regions)).toBe("the first");
    expect(second && regionOf(second, regions)).toBeUndefined();
  });

  it.each(["  if (a)  tool(a);", "    if (a) tool(a);", "  if (a) tool(b);"])(
    "is not found if a line differs: %j",
    (line) => {
      const source = ["  // --- the first", "  const a = z;", line, "  // ---"].join("\n");
      const { regions } = regionsIn(source);
      expect(first && regionOf(first, regions)).toBeUndefined();
    },
  );
});
