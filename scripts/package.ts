/**
 * Builds the package with its page, packs it as npm would publish it, and checks the tarball: `npm run package`.
 * `-- FOLDER` keeps the tarballs there.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { packCreatePackage, packedTarball } from "./pack.ts";

/** Maximum size of the tarball, with the page. */
const MAX_BYTES = 1_000_000;
const MAX_FILES = 250;

const [kept] = process.argv.slice(2);
const folder = kept === undefined ? mkdtempSync(join(tmpdir(), "byref-package-")) : resolve(kept);
mkdirSync(folder, { recursive: true });
try {
  const packed = await packedTarball();
  const tarball = join(folder, basename(packed));
  copyFileSync(packed, tarball);
  const created = await packCreatePackage(folder);
  const { size } = statSync(tarball);
  const files = run("tar", "-tzf", tarball).trim().split("\n").length;
  console.log(`${size} bytes, at most ${MAX_BYTES}; ${files} files, at most ${MAX_FILES}`);
  if (size > MAX_BYTES || files > MAX_FILES) process.exitCode = 1;
  run("publint", tarball, "--strict");
  run("attw", tarball, "--profile=esm-only", "--quiet");
  for (const path of [tarball, created])
    run("npm", "publish", path, "--dry-run", "--ignore-scripts");
  console.log(`${tarball} and ${created} can be published.`);
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
}

function run(program: string, ...parameters: readonly string[]): string {
  return execFileSync(program, parameters, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}
