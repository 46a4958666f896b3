/**
 * Builds the package with its page, packs it as npm would publish it, and checks the tarball: `npm run package`.
 * `-- FOLDER` keeps the tarball there.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { packCreatePackage } from "./create-package.ts";
import { packFolder } from "./pack-folder.ts";
import { buildPage } from "./page.ts";

/** Maximum size of the tarball, with the page. */
const MAX_BYTES = 1_000_000;
const MAX_FILES = 250;
/** Maximum ratio of a Worker that imports `createRuntime` from the package to one that imports the sources. */
const MAX_GROWTH = 1.02;

const [kept] = process.argv.slice(2);
const folder = kept === undefined ? mkdtempSync(join(tmpdir(), "byref-package-")) : resolve(kept);
mkdirSync(folder, { recursive: true });
try {
  run(process.execPath, ["scripts/build.ts"]);
  buildPage();
  const packed = packFolder(".", folder);
  const tarball = packed.path;
  require(packed.size <= MAX_BYTES, `${packed.size} bytes, at most ${MAX_BYTES}`);
  require(packed.entryCount <= MAX_FILES, `${packed.entryCount} files, at most ${MAX_FILES}`);
  const growth = bundledBytes("./dist/byref.js") / bundledBytes("./src/byref.ts");
  require(growth <= MAX_GROWTH, `${growth.toFixed(3)} of the bytes of its sources in a Worker`);
  const checks = {
    publint: ["publint", tarball, "--strict"],
    "types of all entries": ["attw", tarball, "--profile=esm-only", "--quiet"],
    "npm publish": ["npm", "publish", tarball, "--dry-run", "--ignore-scripts"],
  };
  const created = await packCreatePackage(folder);
  run("npm", ["publish", created, "--dry-run", "--ignore-scripts"]);
  console.log("ok     create-byref");
  for (const [name, [program = "", ...parameters]] of Object.entries(checks)) {
    run(program, parameters);
    console.log(`ok     ${name}`);
  }
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
}

function bundledBytes(module: string): number {
  const text = `export { createRuntime } from "${module}";`;
  const options = ["--bundle", "--minify", "--format=esm", "--target=es2022"];
  const parameters = [...options, "--packages=external", "--loader=ts"];
  return execFileSync("esbuild", parameters, { input: text, stdio: "pipe" }).length;
}

function run(program: string, parameters: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, parameters, { encoding: "utf8" });
  if (status === 0) return stdout;
  console.error(`FAILED ${program} ${parameters.join(" ")}\n${stdout}${stderr}`);
  process.exit(1);
}

function require(isFine: boolean, said: string): void {
  console.log(`${isFine ? "ok    " : "FAILED"} package: ${said}`);
  if (!isFine) process.exit(1);
}
