/** Runs all static checks: `npm run check`. */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ensurePage, pageKiB } from "./page.ts";

/**
 * KiB after gzip, as `wrangler deploy --dry-run --minify` reports it. A user would notice half of a peer's Worker
 * (AIChatAgent: 441 KiB), not a KiB more. See bench/README.md.
 */
const bundles = [
  {
    name: "createRuntime, model passed in",
    config: "bench/bundle/wrangler.toml",
    maxKiB: 209,
  },
  { name: "deployable Worker", config: "wrangler.toml", maxKiB: 518 },
];

/** Lines of TypeScript by folder. A change that exceeds one deletes first; what falls below it lowers it. */
const MAX_LINES = {
  src: 34_094,
  "packages/*/src": 31_893,
  page: 10_500,
  bench: 2_364,
  scripts: 1_957,
  "{test,packages/*/test}": 71_314,
};

const checks = [
  { name: "format", command: ["oxfmt", "--check"] },
  { name: "lint and layers", command: ["oxlint"] },
  { name: "nothing unused", command: ["knip", "--no-progress"] },
  { name: "types", command: ["tsc", "-p", "tsconfig.json"] },
  { name: "types of the page", command: ["tsc", "-p", "page/tsconfig.json"] },
  {
    name: "generated types are fresh",
    command: ["wrangler", "types", "--include-runtime=false", "--check"],
  },
];

process.env.WRANGLER_SEND_METRICS = "false";
await ensurePage();
let passed = 0;
let failed = 0;

for (const { name, command } of checks) {
  const [program = "", ...parameters] = command;
  const { status, stdout, stderr } = spawnSync(program, parameters, { encoding: "utf8" });
  report(name, status === 0, status === 0 ? "" : `${stdout}${stderr}`);
}
for (const { name, config, maxKiB } of bundles) {
  atMost(`bundle: ${name}, KiB gzip`, bundleKiB(config), maxKiB);
}
for (const [folder, maxLines] of Object.entries(MAX_LINES)) {
  atMost(`lines: ${folder}`, linesIn(folder), maxLines);
}
atMost("bundle: client, bytes gzip", minifiedBytes("client", "--bundle"), 3_800);
const outside = ["--bundle", "--external:react", "--external:../client/*"];
atMost("bundle: react, beside the client, bytes gzip", minifiedBytes("react", ...outside), 4_096);
// One file, which an MCP client reads once.
atMost("view of a variable, KiB gzip", pageKiB("web-app"), 100);
// All files that a browser loads, including lazy ones.
atMost("page, KiB gzip", pageKiB(), 250);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function report(name: string, isFine: boolean, said: string): void {
  if (isFine) passed++;
  else failed++;
  console.log(`${isFine ? "ok    " : "FAILED"} ${name}${said === "" ? "" : `\n${said}`}`);
}

function atMost(name: string, size: number, most: number): void {
  report(`${name}: ${size}, at most ${most}`, size <= most, "");
}

function linesIn(folder: string): number {
  const files = globSync(`${folder}/**/*.{ts,tsx}`, { exclude: ["**/node_modules/**"] });
  return files.reduce((sum, file) => sum + readFileSync(file, "utf8").split("\n").length - 1, 0);
}

function bundleKiB(config: string): number {
  const folder = mkdtempSync(join(tmpdir(), "byref-bundle-"));
  try {
    const options = ["--dry-run", "--minify", "--outdir", folder];
    const parameters = ["deploy", "--config", config, ...options];
    const said = execFileSync("wrangler", parameters, { encoding: "utf8", stdio: "pipe" });
    const gzip = /gzip: ([\d.]+) KiB/.exec(said)?.[1];
    if (gzip === undefined) throw new Error(`wrangler did not say a size:\n${said}`);
    return Number(gzip);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** After gzip. Uses the esbuild that wrangler installs. */
function minifiedBytes(entry: string, ...options: readonly string[]): number {
  const parameters = ["--minify", "--format=esm", "--target=es2022", ...options];
  const path = `packages/client/src/${entry}.ts`;
  return gzipSync(execFileSync("esbuild", [path, ...parameters], { stdio: "pipe" })).length;
}
