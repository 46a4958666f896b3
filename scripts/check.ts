/** Runs all static checks: `npm run check`. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildPage, pageKiB } from "./page.ts";

/**
 * KiB after gzip, as `wrangler deploy --dry-run --minify` reports it. The goal for `createRuntime` is 180;
 * the URL trackers, the labels of sealed data, the bounds on work and the schema walker cost 8 KiB. See
 * bench/README.md.
 */
const bundles = [
  {
    name: "createRuntime, model passed in",
    config: "scripts/bundle/wrangler.toml",
    maxKiB: 199,
  },
  { name: "deployable Worker", config: "wrangler.toml", maxKiB: 413 },
];

/** The client code that a page loads. */
const MAX_CLIENT_BYTES = 3_248;

/** All files that a browser loads for the page, including lazy ones. */
const MAX_PAGE_KIB = 200;

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
buildPage();
let failed = 0;

for (const { name, command } of checks) {
  const [program = "", ...parameters] = command;
  const { status, stdout, stderr } = spawnSync(program, parameters, { encoding: "utf8" });
  report(name, status === 0, status === 0 ? "" : `${stdout}${stderr}`);
}
for (const { name, config, maxKiB } of bundles) {
  const { size, nameReaders } = bundle(config);
  report(`bundle: ${name}: ${size} KiB gzip, at most ${maxKiB}`, size <= maxKiB, "");
  report(
    `bundle: ${name}: asks no class for its name`,
    nameReaders.length === 0,
    nameReaders.join("\n"),
  );
}
const clientSize = clientBytes();
report(
  `bundle: client: ${clientSize} bytes gzip, at most ${MAX_CLIENT_BYTES}`,
  clientSize <= MAX_CLIENT_BYTES,
  "",
);
const pageSize = pageKiB();
report(`page: ${pageSize} KiB gzip, at most ${MAX_PAGE_KIB}`, pageSize <= MAX_PAGE_KIB, "");
console.log(`${checks.length + 2 * bundles.length + 2 - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function report(name: string, isFine: boolean, said: string): void {
  if (!isFine) failed++;
  console.log(`${isFine ? "ok    " : "FAILED"} ${name}${said === "" ? "" : `\n${said}`}`);
}

function bundle(config: string) {
  const folder = mkdtempSync(join(tmpdir(), "byref-bundle-"));
  try {
    const options = ["--dry-run", "--minify", "--metafile", "--outdir", folder];
    const parameters = ["deploy", "--config", config, ...options];
    const said = execFileSync("wrangler", parameters, { encoding: "utf8", stdio: "pipe" });
    const gzip = /gzip: ([\d.]+) KiB/.exec(said)?.[1];
    if (gzip === undefined) throw new Error(`wrangler did not say a size:\n${said}`);
    const { inputs } = JSON.parse(readFileSync(join(folder, "bundle-meta.json"), "utf8"));
    const files = Object.keys(inputs).map((file) => join(dirname(config), file));
    return { size: Number(gzip), nameReaders: files.filter(readsClassNames) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * True if the file reads the name of a class, which is arbitrary without `keep_names`. Exceptions: Zod names
 * its own classes, and reads a class's name only for objects that are not JSON; jose names its errors this
 * way, and nothing reads those names.
 */
function readsClassNames(file: string): boolean {
  return (
    !/\/(?:zod|jose)\//.test(file) &&
    /\bconstructor(\?\.|\.)name\b/.test(readFileSync(file, "utf8"))
  );
}

/** Uses the esbuild that wrangler installs. */
function clientBytes(): number {
  const parameters = ["src/client.ts", "--bundle", "--minify", "--format=esm", "--target=es2022"];
  return gzipSync(execFileSync("esbuild", parameters, { stdio: "pipe" })).length;
}
