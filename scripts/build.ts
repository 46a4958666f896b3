/**
 * Builds `dist/`: an ES module and its types for each entry of the package, parts that several entries use in
 * `dist/chunks`, and the module that Node loads for `byref`, which throws an error that names the supported
 * modules. The page in `dist/web` is built by `npm run build:web`. An argument is another folder than `dist`.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type InputOptions, type Plugin, rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { entryFolder } from "./built.ts";

const [, , dist = "dist"] = process.argv;

const NOT_IN_NODE = `byref is for Cloudflare Workers: it imports "cloudflare:workers", which Node does not have. In Node, import "byref/agent" (agents of the AI SDK), "byref/client" (the HTTP client) or "byref/references" (the reference engine).`;

const DISPOSABLE = '/// <reference lib="esnext.disposable" />';

const isPackage = (id: string) => !/^[./]/.test(id);
const INPUT: InputOptions = { external: isPackage, platform: "neutral" };

const ZOD = "src/edge/platform/zod-without-languages.ts";
/** Keeps `export * as z` a statement: an object in its place would have all of Zod, its languages too. */
const zodFile = { id: "./zod-without-languages.js", external: true };
const apart: Plugin = {
  name: "zod",
  resolveId: (id, from) => (from && basename(id) === basename(ZOD) ? zodFile : null),
};

clear();
const declarations = mkdtempSync(join(tmpdir(), "byref-build-"));
try {
  const emit = ["-p", "tsconfig.build.json", "--outDir", declarations];
  const { status } = spawnSync("tsc", emit, { stdio: "inherit" });
  if (status === 0) await bundle();
  process.exitCode = status ?? 1;
} finally {
  rmSync(declarations, { recursive: true, force: true });
}

/** Removes the last build, except for the page or a build of it in progress. */
function clear(): void {
  const built = existsSync(dist) ? readdirSync(dist) : [];
  for (const name of built) {
    if (!name.startsWith("web")) rmSync(join(dist, name), { recursive: true });
  }
}

async function bundle(): Promise<void> {
  const entries = entryNames();
  const modules = await rolldown({
    ...INPUT,
    plugins: [apart],
    input: {
      ...named(entries, (name) => `${entryFolder(name)}/${name}.ts`),
      "cli/main": "packages/gateway/src/cli/main.ts",
      "zod-without-languages": ZOD,
      "query-process": "packages/adapters/src/agent/query-process.ts",
      ...partsOf(entries),
    },
  });
  const { output } = await modules.write({
    dir: dist,
    chunkFileNames: "chunks/[name]-[hash].js",
    // The declaration files contain these comments.
    comments: { jsdoc: false },
  });
  const types = await rolldown({
    ...INPUT,
    input: named(entries, (name) => join(declarations, entryFolder(name), `${name}.d.ts`)),
    plugins: [dts({ dtsInput: true })],
  });
  await types.write({
    dir: dist,
    entryFileNames: "[name].d.ts",
    chunkFileNames: "chunks/[name]-[hash].d.ts",
    // The bundler drops references. With this one, a project needs no setting for `await using`.
    banner: ({ name }) => (name === "testing" ? DISPOSABLE : ""),
  });
  for (const file of output) {
    const isByref = file.type === "chunk" && file.fileName === "byref.js";
    if (isByref) writeFileSync(join(dist, "byref-in-node.js"), moduleForNode(file.exports));
  }
}

/** The names of the modules that package.json exports. */
function entryNames(): readonly string[] {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? [] : basename(entry.types, ".d.ts"),
  );
}

/**
 * The modules that `byref` exports from. As entries of their own they are files of their own, which a bundler
 * leaves out of a Worker that does not import them: in one file, statements such as `z.object(…)` would keep
 * them.
 */
function partsOf(entries: readonly string[]): Readonly<Record<string, string>> {
  const text = ["byref", "runtime"].map((name) => readFileSync(`src/${name}.ts`, "utf8")).join("");
  const exported = text.matchAll(/^export (?!type\b|\*)[^;]*? from "([^"]+)\.ts";/gm);
  const paths = Array.from(exported, ([, path = ""]) => join("src", path));
  const parts = paths.filter((path) => !entries.includes(basename(path)));
  return Object.fromEntries(parts.map((path) => [`parts/${path}`, `${path}.ts`]));
}

function named(
  names: readonly string[],
  path: (name: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, path(name)]));
}

/** Has the same exports: otherwise Node would report a missing name before any code runs. */
function moduleForNode(names: readonly string[]): string {
  const refusal = `throw new Error(${JSON.stringify(NOT_IN_NODE)});`;
  return `export const { ${names.join(", ")} } = refuse();\n\nfunction refuse() {\n  ${refusal}\n}\n`;
}
