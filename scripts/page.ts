/** Builds the page: `npm run build:web`. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { namesIn, pageFolder as built } from "../packages/gateway/src/bundle/page-files.ts";
import { builtOnce, hashOf, SOURCES } from "./built.ts";

const root = join(import.meta.dirname, "..");
/** The view of a variable for MCP clients: one file. */
const builtApp = join(root, "dist/web-app");
/** Says of which sources the page in `dist` is. */
const stamp = `${built}.sources`;
const sources = [...SOURCES, "page"];

/** Builds the page if there is none of these sources. A server may be reading the old one. */
export async function ensurePage(): Promise<void> {
  const hash = hashOf(sources);
  if (hasPage() && existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return;
  const made = await builtOnce("page", sources, (folder) => {
    buildWith("app.config.ts", join(folder, "web-app"));
    buildWith("vite.config.ts", join(folder, "web"));
  });
  replaceFolder(builtApp, join(made, "web-app"));
  replaceFolder(built, join(made, "web"));
  writeFileSync(stamp, hash);
}

/** Throws Vite's output if the build fails. */
function buildWith(config: string, folder: string): void {
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const parameters = ["build", `--config=${config}`, `--outDir=${folder}`, "--emptyOutDir"];
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, ...parameters], {
    cwd: join(root, "page"),
    encoding: "utf8",
    // The caller may be a test, and a page built for tests is larger and slower.
    env: { ...process.env, NODE_ENV: "production" },
  });
  if (status !== 0) throw new Error(`The page could not be built.\n${stdout}${stderr}`);
}

/** Copies a build over another. A server that reads it meanwhile finds what the old or the new `index.html` names. */
function replaceFolder(path: string, source: string): void {
  const assets = join(source, "assets");
  if (existsSync(assets)) cpSync(assets, join(path, "assets"), { recursive: true });
  cpSync(source, path, { recursive: true });
  const names = new Set(namesIn(source));
  for (const name of namesIn(path)) if (!names.has(name)) rmSync(join(path, name), { force: true });
}

/** True if the page has been built, of these sources or of older ones. */
export function hasPage(): boolean {
  return existsSync(join(built, "index.html")) && existsSync(join(builtApp, "variable.html"));
}

/** KiB after gzip of the files of `web`, which a browser loads, or `web-app`. */
export function pageKiB(name: "web" | "web-app" = "web"): number {
  const folder = join(root, "dist", name);
  const sizes = namesIn(folder).map((file) => gzipSync(readFileSync(join(folder, file))).length);
  return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 102.4) / 10;
}

if (import.meta.main) {
  await ensurePage();
  console.log(`dist/web: ${pageKiB()} KiB gzip`);
}
