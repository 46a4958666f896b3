/**
 * Installs this clone's `byref` in the `node_modules` of the working directory, as a separate package and not as a
 * link: it then uses the folder's packages, so there is one `ai` and one `zod`. Needs only Node 24, no packages of
 * the root. Examples call it before they start: `node ../../scripts/install-byref.ts`.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { entryFolder, sourceFolders } from "./built.ts";

const root = join(import.meta.dirname, "..");
const installed = join(process.cwd(), "node_modules/byref");
const manifest = readFileSync(join(root, "package.json"), "utf8");

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
