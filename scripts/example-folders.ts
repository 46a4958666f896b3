import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Returns the examples that have packages of their own, as paths from the root. */
export function exampleFolders(): readonly string[] {
  return foldersIn("examples", "package-lock.json");
}

/** Returns the templates of `create-byref`, as paths from the root. */
export function templateFolders(): readonly string[] {
  return foldersIn("create-byref/templates", "package.json");
}

/** Returns the folders that contain the file. */
function foldersIn(parent: string, file: string): readonly string[] {
  return readdirSync(join(root, parent))
    .map((name) => `${parent}/${name}`)
    .filter((folder) => existsSync(join(root, folder, file)))
    .sort();
}
