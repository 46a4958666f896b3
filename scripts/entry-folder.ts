import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** The folders of sources, from the root: the runtime's and those of the packages. */
export const sourceFolders: readonly string[] = [
  "src",
  ...readdirSync(join(root, "packages")).map((name) => `packages/${name}/src`),
];

/** The folder of the module of an entry of the package, such as `agent`. */
export function entryFolder(entry: string): string {
  const found = sourceFolders.find((folder) => existsSync(join(root, folder, `${entry}.ts`)));
  if (found === undefined) throw new Error(`No folder has ${entry}.ts.`);
  return found;
}
