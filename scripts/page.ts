/** Builds the page: `npm run build:web`. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { namesIn, pageFolder as built } from "../packages/gateway/src/bundle/page-files.ts";
import { copyFolder, newFolderFor, replaceFolder } from "./whole-folder.ts";

const root = join(import.meta.dirname, "..");
/** The view of a variable for MCP clients: one file. */
const builtApp = join(root, "dist/web-app");

/** The sources of the page. */
const sources = ["src", "packages", "page", "package-lock.json"];

/**
 * Throws Vite's output if the build fails. Replaces the page as a whole, because a server may be reading it.
 */
export function buildPage(): void {
  buildWith("app.config.ts", builtApp);
  buildWith("vite.config.ts", built);
}

function buildWith(config: string, folder: string): void {
  const made = newFolderFor(folder);
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const parameters = ["build", `--config=${config}`, `--outDir=${made}`, "--emptyOutDir"];
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, ...parameters], {
    cwd: join(root, "page"),
    encoding: "utf8",
    // The caller may be a test, and a page built for tests is larger and slower.
    env: { ...process.env, NODE_ENV: "production" },
  });
  if (status === 0) return replaceFolder(folder, made);
  rmSync(made, { recursive: true, force: true });
  throw new Error(`The page could not be built.\n${stdout}${stderr}`);
}

/** Copies the current page. A later build does not change the copy. */
export function copyPage(folder: string): void {
  ensurePage();
  copyFolder(built, folder);
}

/** Copies the current view of a variable. */
export function copyApp(folder: string): void {
  ensurePage();
  copyFolder(builtApp, folder);
}

/** Builds the page if there is none, or if its sources are newer. */
export function ensurePage(): void {
  const isFresh = () => {
    const builtMs = statSync(join(built, "index.html")).mtimeMs;
    return sources.every((name) => newestMs(join(root, name)) < builtMs);
  };
  if (!hasPage() || !isFresh()) buildPage();
}

/** True if the page has been built, of these sources or of older ones. */
export function hasPage(): boolean {
  return existsSync(join(built, "index.html")) && existsSync(join(builtApp, "variable.html"));
}

function newestMs(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  const inside = readdirSync(path).map((name) => newestMs(join(path, name)));
  return Math.max(stats.mtimeMs, ...inside);
}

/** KiB that a browser loads for the page, after gzip. */
export function pageKiB(): number {
  return kibIn(built);
}

/** KiB of the view of a variable, after gzip. */
export function appKiB(): number {
  return kibIn(builtApp);
}

function kibIn(folder: string): number {
  const sizes = namesIn(folder).map((name) => gzipSync(readFileSync(join(folder, name))).length);
  return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 102.4) / 10;
}

if (process.argv[1] === import.meta.filename) {
  buildPage();
  console.log(`dist/web: ${pageKiB()} KiB gzip`);
}
