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
