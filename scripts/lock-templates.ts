/**
 * Renews the lockfiles of the templates of `create-byref` from their package.json and Byref's: `npm run
 * lock:templates`. Byref need not be published or built.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completeLock } from "./complete-lock.ts";
import { templateFolders } from "./example-folders.ts";
import { packFolder } from "./pack-folder.ts";

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

interface Lock {
  readonly packages: Readonly<Record<string, Partial<Manifest>>>;
}

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "byref-lock-"));
try {
  const tarball = packManifest(join(folder, "byref"));
  for (const template of templateFolders()) {
    lock(join(root, template), tarball);
    console.log(template);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Packs a `byref` that contains only the metadata that a lockfile needs. */
function packManifest(target: string): string {
  const { name, version, bin, engines, ...rest } = readJson<Manifest>(join(root, "package.json"));
  const { dependencies, peerDependencies, peerDependenciesMeta } = rest;
  const packages = { dependencies, peerDependencies, peerDependenciesMeta };
  mkdirSync(target, { recursive: true });
  writeFileSync(
    join(target, "package.json"),
    JSON.stringify({ name, version, bin, engines, ...packages }),
  );
  return packFolder(target, target).path;
}

function lock(template: string, tarball: string): void {
  const copy = join(folder, "template");
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy);
  const manifest = readJson<Manifest>(join(template, "package.json"));
  const { byref = "" } = manifest.dependencies;
  const dependencies = { ...manifest.dependencies, byref: `file:${tarball}` };
  writeFileSync(join(copy, "package.json"), JSON.stringify({ ...manifest, dependencies }));
  npm(copy, "install", "--package-lock-only", "--no-audit", "--no-fund");
  const made = readJson<Lock>(join(copy, "package-lock.json"));
  const { "": own, "node_modules/byref": locked, ...packages } = made.packages;
  const { resolved: _, integrity: __, ...entry } = locked ?? {};
  const named = { ...own, dependencies: { ...own?.dependencies, byref } };
  const all = { "": named, ...packages, "node_modules/byref": entry };
  const path = join(copy, "package-lock.json");
  writeFileSync(path, JSON.stringify({ ...made, packages: all }));
  completeLock(path);
  cpSync(path, join(template, "package-lock.json"));
}

function npm(cwd: string, ...parameters: readonly string[]): void {
  execFileSync("npm", parameters, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}

function readJson<Content>(path: string): Content {
  return JSON.parse(readFileSync(path, "utf8")) as Content;
}
