import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const root = join(import.meta.dirname, "..");
const cache = join(root, "node_modules/.cache/byref");
const UNUSED_MS = 24 * 60 * 60_000;
/** A build that takes longer was killed. */
const BUILD_MS = 5 * 60_000;
const SKIPPED = new Set(["node_modules", "test", "dist"]);

/** What the page, the package and the Worker are built from. */
export const SOURCES = ["src", "packages", "package.json", "package-lock.json", "tsconfig.json"];

/** Hashes files, and folders without their tests. Paths start at the root. */
export function hashOf(paths: readonly string[]): string {
  const hash = createHash("sha256");
  const add = (path: string) => {
    const full = join(root, path);
    if (!statSync(full).isDirectory())
      return void hash.update(`${path}\0`).update(readFileSync(full));
    for (const name of readdirSync(full).sort()) if (!SKIPPED.has(name)) add(`${path}/${name}`);
  };
  for (const path of paths) add(path);
  return hash.digest("hex").slice(0, 20);
}

/**
 * Returns a folder that `fill` has filled for these sources, now or in an earlier run. Of several processes one builds
 * it, and a killed one leaves no half of it.
 */
export async function builtOnce(
  name: string,
  paths: readonly string[],
  fill: (folder: string) => Promise<void> | void,
): Promise<string> {
  const folder = join(cache, `${name}-${hashOf(paths)}`);
  const lock = `${folder}.lock`;
  while (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    // Undefined if there is one.
    if (mkdirSync(lock, { recursive: true }) === undefined) {
      if (Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0) > BUILD_MS)
        rmSync(lock, { recursive: true, force: true });
      await wait(100);
      continue;
    }
    const made = mkdtempSync(`${folder}.`);
    try {
      await fill(made);
      renameSync(made, folder);
      removeUnused(name);
    } finally {
      rmSync(made, { recursive: true, force: true });
      rmSync(lock, { recursive: true, force: true });
    }
  }
  return folder;
}

function removeUnused(name: string): void {
  for (const entry of readdirSync(cache).filter((other) => other.startsWith(`${name}-`))) {
    const { mtimeMs = Date.now() } = statSync(join(cache, entry), { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > UNUSED_MS)
      rmSync(join(cache, entry), { recursive: true, force: true });
  }
}

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
