import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const root = join(import.meta.dirname, "..");

/**
 * Finds the test files that have slow tests: those that import their options, or that import such a file. To load
 * all others, only to find no slow test in them, takes minutes.
 */
export function findSlowFiles(): readonly string[] {
  const known = new Map([[join(root, "test/support/slow.ts"), true]]);
  const isSlow = (file: string): boolean => {
    const isKnown = known.get(file);
    if (isKnown !== undefined) return isKnown;
    // Set first, because its imports may lead back to it.
    known.set(file, false);
    const found = importsOf(file).some(isSlow);
    known.set(file, found);
    return found;
  };
  const packages = readdirSync(join(root, "packages"))
    .map((name) => `packages/${name}/test`)
    .filter((folder) => existsSync(join(root, folder)));
  return ["test", "page/test", ...packages]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) =>
        join(root, folder, file),
      ),
    )
    .filter((file) => /\.test\.tsx?$/.test(file) && isSlow(file))
    .map((file) => relative(root, file));
}

/** The files of tests that a file imports. */
function importsOf(file: string): readonly string[] {
  return Array.from(
    readFileSync(file, "utf8").matchAll(/from "(\.[^"]+\.tsx?)"/g),
    ([, path = ""]) => resolve(dirname(file), path),
  ).filter((path) => /^(?:page\/|packages\/[^/]+\/)?test\//.test(relative(root, path)));
}
