import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { fencedIn, fencesIn } from "../support/fences.ts";

/**
 * The code of the guides is run: a `ts` block of `docs/guides/NAME.md` is in `test/guides/NAME.test.ts` (or in
 * `test/edge-node/guides`, with the Worker, or `test/edge/guides`, in workerd) between `// --- <title>` and
 * `// ---`. Indentation does not count. If the lines are inside a function, the imports of the block are among
 * those of the file.
 */

interface Code {
  /** `module name`, such as `ai tool`; `import * as z from "zod"` becomes `zod * as z`. */
  readonly imports: readonly string[];
  /** The remaining code, verbatim. */
  readonly text: string;
}

const REGION = /^ *\/\/ --- (.+)\n([\s\S]*?)^ *\/\/ ---$/gm;
const IMPORT = /^import (?:type )?(?:\{([^}]*)\}|(\* as \w+)|(\w+)) from "([^"]+)";\n?/gm;

/** Languages of blocks that the tests would not run. */
const UNCHECKED = new Set(["js", "jsx", "javascript", "mjs", "tsx", "typescript"]);

/** The `ts` blocks of a guide. */
function blocksIn(markdown: string): Code[] {
  return fencedIn(markdown, "ts").map(codeOf);
}

/** Returns the code between the marks of a test, by title, and the imports of the file. */
function regionsIn(source: string): { imports: string[]; regions: Map<string, Code> } {
  const regions = new Map<string, Code>();
  for (const [, title = "", lines = ""] of source.matchAll(REGION)) {
    if (regions.has(title)) throw new Error(`two regions are called ${title}`);
    regions.set(title, codeOf(lines));
  }
  return { imports: importsIn(source), regions };
}

/** Returns the title of the region with the block's lines, or undefined. */
function regionOf(block: Code, regions: ReadonlyMap<string, Code>): string | undefined {
  for (const [title, { text }] of regions) if (text === block.text) return title;
  return undefined;
}

function codeOf(lines: string): Code {
  return { imports: importsIn(lines), text: dedented(lines.replaceAll(IMPORT, "")) };
}

function importsIn(source: string): string[] {
  return [...source.matchAll(IMPORT)].flatMap(([, names, all, single, module]) => {
    const listed = names?.split(",").map((name) => name.trim().replace(/^type /, ""));
    const imported = listed ?? [all ?? `default as ${single}`];
    return imported.filter((name) => name !== "").map((name) => `${module} ${name}`);
  });
}

function dedented(lines: string): string {
  const rows = lines.split("\n");
  const indents = rows.filter((row) => row.trim() !== "").map((row) => row.search(/\S/));
  const indent = Math.min(...indents);
  return rows
    .map((row) => row.slice(indent).trimEnd())
    .join("\n")
    .trim();
}

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
    const unchecked = fencesIn(guide(name)).filter(({ language }) => UNCHECKED.has(language));
    expect(unchecked).toEqual([]);
  });

  it("shows everything that its tests mark for it", () => {
    const shown = new Set(blocks.map(({ text }) => text));
    const left = regions.filter(([, { text }]) => !shown.has(text));
    expect(left.map(([title]) => title)).toEqual([]);
  });
});
