/**
 * Builds the package with its page, packs it as npm would publish it, and checks the tarball: `npm run package`.
 * `-- FOLDER` keeps the tarballs there.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { rolldown } from "rolldown";
import { builtOnce, SOURCES } from "./built.ts";
import { ensurePage } from "./page.ts";

/** Maximum size of the tarball, with the page. */
const MAX_BYTES = 1_000_000;
const MAX_FILES = 250;
const root = join(import.meta.dirname, "..");
const PACKED = ["package.json", "README.md", "CHANGELOG.md", "LICENSE"];

/** Builds and packs the package, once for its sources, outside of this folder. Returns the tarball's path. */
export async function packedTarball(): Promise<string> {
  const sources = [...SOURCES, ...PACKED, "scripts", "tsconfig.build.json", "page"];
  const made = await builtOnce("package", sources, async (folder) => {
    await ensurePage();
    const copy = mkdtempSync(join(tmpdir(), "byref-package-"));
    try {
      for (const name of [...PACKED, "dist/web", "dist/web-app"])
        cpSync(join(root, name), join(copy, name), { recursive: true });
      const env = { ...process.env, PATH: `${root}/node_modules/.bin:${process.env["PATH"]}` };
      const build = ["scripts/build.ts", join(copy, "dist")];
      execFileSync(process.execPath, build, { cwd: root, env, stdio: "pipe" });
      pack(copy, folder);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
  const [tarball = ""] = readdirSync(made);
  return join(made, tarball);
}

/** Builds and packs `create-byref`, whose program is one module without packages. Returns the tarball's path. */
export async function packCreatePackage(destination: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "create-byref-"));
  try {
    for (const name of ["package.json", "README.md", "LICENSE", "templates"]) {
      cpSync(join(root, "create-byref", name), join(folder, name), { recursive: true });
    }
    const input = join(root, "create-byref/src/main.ts");
    const modules = await rolldown({ input, platform: "node" });
    const program = join(folder, "dist/main.js");
    await modules.write({ file: program });
    chmodSync(program, 0o755);
    return pack(folder, destination);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Packs a folder as `npm publish` would, without running its scripts. Returns the tarball's path. */
function pack(folder: string, destination: string): string {
  const parameters = ["pack", "--ignore-scripts", `--pack-destination=${destination}`];
  const said = execFileSync("npm", parameters, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  return join(destination, said.trim().split("\n").at(-1) ?? "");
}

if (import.meta.main) {
  const [kept] = process.argv.slice(2);
  const folder = kept === undefined ? mkdtempSync(join(tmpdir(), "byref-package-")) : resolve(kept);
  mkdirSync(folder, { recursive: true });
  try {
    const packed = await packedTarball();
    const tarball = join(folder, basename(packed));
    cpSync(packed, tarball);
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
}

function run(program: string, ...parameters: readonly string[]): string {
  return execFileSync(program, parameters, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}
