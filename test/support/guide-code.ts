/**
 * The code of the guides is run: a `ts` block of `docs/guides/NAME.md` is in `test/guides/NAME.test.ts` (or in
 * `test/edge-node/guides`, with the Worker, or `test/edge/guides`, in workerd) between `// --- <title>` and
 * `// ---`. Indentation does not count. If the lines are inside a function, the imports of the block are among
 * those of the file.
 */

import { fencedIn, fencesIn } from "./fences.ts";

export interface Code {
  /** `module name`, such as `ai tool`; `import * as z from "zod"` becomes `zod * as z`. */
  readonly imports: readonly string[];
  /** The remaining code, verbatim. */
  readonly text: string;
}

const REGION = /^ *\/\/ --- (.+)\n([\s\S]*?)^ *\/\/ ---$/gm;
const IMPORT = /^import (?:type )?(?:\{([^}]*)\}|(\* as \w+)|(\w+)) from "([^"]+)";\n?/gm;

/** Languages of blocks that the tests would not run. */
export const UNCHECKED = new Set(["js", "jsx", "javascript", "mjs", "tsx", "typescript"]);

/** The languages of all blocks of a guide. */
export function languagesIn(markdown: string): string[] {
  return fencesIn(markdown).map(({ language }) => language);
}

/** The `ts` blocks of a guide. */
export function blocksIn(markdown: string): Code[] {
  return fencedIn(markdown, "ts").map(codeOf);
}

/** Returns the code between the marks of a test, by title, and the imports of the file. */
export function regionsIn(source: string): { imports: string[]; regions: Map<string, Code> } {
  const regions = new Map<string, Code>();
  for (const [, title = "", lines = ""] of source.matchAll(REGION)) {
    if (regions.has(title)) throw new Error(`two regions are called ${title}`);
    regions.set(title, codeOf(lines));
  }
  return { imports: importsIn(source), regions };
}

/** Returns the title of the region with the block's lines, or undefined. */
export function regionOf(block: Code, regions: ReadonlyMap<string, Code>): string | undefined {
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
