/**
 * Installs this clone's `byref` in the `node_modules` of the working directory, as a separate package and not as a
 * link: it then uses the folder's packages, so there is one `ai` and one `zod`. Needs only Node 24, no packages of
 * the root. Examples call it before they start: `node ../../scripts/install-byref.ts`.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { entryFolder, sourceFolders } from "./built.ts";

type Versions = Readonly<Record<string, string>>;

const root = join(import.meta.dirname, "..");
const modules = join(process.cwd(), "node_modules");
const installed = join(modules, "byref");
const manifest = readFileSync(join(root, "package.json"), "utf8");
const own = JSON.parse(manifest) as Readonly<
  Record<"dependencies" | "devDependencies" | "peerDependencies", Versions>
>;

requireSameVersions();
// Suppresses Node's warning, once per process, that `stripTypeScriptTypes` is experimental.
process.removeAllListeners("warning");
rmSync(installed, { recursive: true, force: true });
for (const folder of sourceFolders) {
  cpSync(join(root, folder), join(installed, folder), { recursive: true });
}
const imported = /((?:\bfrom|\bimport\() ?"\.{1,2}\/[^"]+)\.ts"/g;
for (const name of readdirSync(installed, { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".ts")) continue;
  const source = stripTypeScriptTypes(readFileSync(join(installed, name), "utf8"));
  const path = join(installed, name.replace(/\.ts$/, ".js"));
  writeFileSync(path, source.replaceAll(imported, '$1.js"'));
}
// The package's entries and types are its sources, which need no compiler.
const entry = /"\.\/dist\/([\w-]+)(\.d\.ts|\.js)"/g;
writeFileSync(
  join(installed, "package.json"),
  manifest.replaceAll(entry, (_, name: string, end: string) => {
    const module = name === "byref-in-node" ? "byref" : name;
    return `"./${entryFolder(module)}/${name}${end.slice(-3)}"`;
  }),
);

/**
 * Throws if the folder has another version of a package that `byref` depends on. It needs only those that the
 * entries it imports need.
 */
function requireSameVersions(): void {
  const { dependencies, devDependencies, peerDependencies } = own;
  const peers = Object.entries(devDependencies).filter(([name]) => name in peerDependencies);
  const versions: Versions = { ...dependencies, ...Object.fromEntries(peers) };
  for (const [name, version] of Object.entries(versions)) {
    const path = join(modules, name, "package.json");
    if (!existsSync(path) || version.startsWith("^")) continue;
    const { version: found } = JSON.parse(readFileSync(path, "utf8")) as { version: string };
    if (found === version) continue;
    throw new Error(`byref needs ${name} ${version}, and ${process.cwd()} has ${found}.`);
  }
}
