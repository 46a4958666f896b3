import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Returns the examples that have packages of their own, as paths from the root. */
export function exampleFolders(): readonly string[] {
  return readdirSync(join(root, "examples"))
    .map((name) => `examples/${name}`)
    .filter((folder) => existsSync(join(root, folder, "package-lock.json")))
    .sort();
}
