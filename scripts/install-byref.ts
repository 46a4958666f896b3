/**
 * Installs this clone's `byref` in the `node_modules` of the working directory, as a separate package and not as a
 * link: it then uses the folder's packages, so there is one `ai` and one `zod`. Needs only Node 24, no packages of
 * the root. Examples call it before they start: `node ../../scripts/install-byref.ts`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { entryFolder, sourceFolders } from "./entry-folder.ts";
import { copyFolder, newFolderFor, replaceFolder } from "./whole-folder.ts";

interface Package {
  readonly version: string;
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
  readonly peerDependencies: Versions;
}

type Versions = Readonly<Record<string, string>>;

const root = join(import.meta.dirname, "..");
const modules = join(process.cwd(), "node_modules");
const own = readJson(join(root, "package.json"));

requireSameVersions();
// Suppresses Node's warning, once per process, that `stripTypeScriptTypes` is experimental.
process.removeAllListeners("warning");
const made = newFolderFor(join(modules, "byref"));
for (const folder of sourceFolders) {
  mkdirSync(dirname(join(made, folder)), { recursive: true });
  copyFolder(join(root, folder), join(made, folder));
}
for (const name of readdirSync(made, { recursive: true, encoding: "utf8" })) {
  if (name.endsWith(".ts")) writeJavaScript(join(made, name));
}
writeFileSync(join(made, "package.json"), JSON.stringify(withSources(own), null, 2));
replaceFolder(join(modules, "byref"), made);

/**
 * Throws if the folder has another version of a package that `byref` depends on. It needs only those that the
 * entries it imports need.
 */
function requireSameVersions(): void {
  const { dependencies, devDependencies, peerDependencies } = own;
  const peers = Object.keys(peerDependencies)
    .filter((name) => name in devDependencies)
    .map((name) => [name, devDependencies[name]]);
  const versions: Versions = { ...dependencies, ...Object.fromEntries(peers) };
  for (const [name, version] of Object.entries(versions)) {
    const path = join(modules, name, "package.json");
    const installed = existsSync(path) ? readJson(path).version : version;
    // npm checks ranges.
    if (installed === version || version.startsWith("^")) continue;
    throw new Error(`byref needs ${name} ${version}, and ${process.cwd()} has ${installed}.`);
  }
}

/** Writes it beside the source. */
function writeJavaScript(path: string): void {
  const source = readFileSync(path, "utf8");
  const imported = /((?:\bfrom|\bimport\() ?"\.{1,2}\/[^"]+)\.ts"/g;
  writeFileSync(
    path.replace(/\.ts$/, ".js"),
    stripTypeScriptTypes(source).replaceAll(imported, '$1.js"'),
  );
}

/** Points the package's entries and types to its sources, which need no compiler. */
function withSources(given: Package): object {
  const text = JSON.stringify(given).replaceAll(
    /"\.\/dist\/([\w-]+)(\.d\.ts|\.js)"/g,
    (_, name: string, end: string) =>
      `"./${entryFolder(name === "byref-in-node" ? "byref" : name)}/${name}${end.slice(-3)}"`,
  );
  return JSON.parse(text) as object;
}

function readJson(path: string): Package {
  return JSON.parse(readFileSync(path, "utf8")) as Package;
}
