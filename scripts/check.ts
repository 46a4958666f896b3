/** Runs all static checks: `npm run check`. */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { appKiB, buildPage, pageKiB } from "./page.ts";

/**
 * KiB after gzip, as `wrangler deploy --dry-run --minify` reports it. A user would notice half of a peer's Worker
 * (AIChatAgent: 441 KiB), not a KiB more. See bench/README.md.
 */
const bundles = [
  {
    name: "createRuntime, model passed in",
    config: "scripts/bundle/wrangler.toml",
    maxKiB: 220,
  },
  { name: "deployable Worker", config: "wrangler.toml", maxKiB: 480 },
];

/** The client code that a page loads. */
const MAX_CLIENT_BYTES = 3_600;

/** The code of `byref/react`, without the client, React and the AI SDK. */
const MAX_REACT_BYTES = 4_096;

/** The code of `byref/durable` beyond what it shares with the other entries. */
const MAX_DURABLE_BYTES = 12_288;

/** Bytes that the folder of `byref/mastra` adds to the code that it imports from others, such as `byref/agent`. */
const MAX_MASTRA_BYTES = 6_000;

/** All files that a browser loads for the page, including lazy ones. */
const MAX_PAGE_KIB = 250;
/** One file of the package, which an MCP client reads once. */
const MAX_APP_KIB = 100;

/** Lines of TypeScript by folder. A change that exceeds one deletes first; what falls below it lowers it. */
const MAX_LINES = {
  src: 47_300,
  "packages/*/src": 26_050,
  page: 12_650,
  bench: 2_900,
  scripts: 4_400,
  test: 103_100,
  "packages/*/test": 19_700,
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
for (const [folder, maxLines] of Object.entries(MAX_LINES)) {
  const lines = linesIn(folder);
  report(`lines: ${folder}: ${lines}, at most ${maxLines}`, lines <= maxLines, "");
}
reportBytes(
  "client",
  gzipSync(minified("packages/client/src/client.ts", ["--bundle"])).length,
  MAX_CLIENT_BYTES,
);
reportBytes("byref/durable, own code", durableBytes(), MAX_DURABLE_BYTES);
const outside = ["--bundle", "--external:react", "--external:../client/*"];
reportBytes(
  "react, beside the client",
  gzipSync(minified("packages/client/src/react.ts", outside)).length,
  MAX_REACT_BYTES,
);
reportBytes(
  "byref/mastra beside what it imports",
  addedBytes("packages/adapters/src/mastra"),
  MAX_MASTRA_BYTES,
);
const appSize = appKiB();
report(
  `view of a variable: ${appSize} KiB gzip, at most ${MAX_APP_KIB}`,
  appSize <= MAX_APP_KIB,
  "",
);
const pageSize = pageKiB();
report(`page: ${pageSize} KiB gzip, at most ${MAX_PAGE_KIB}`, pageSize <= MAX_PAGE_KIB, "");
const all = checks.length + 2 * bundles.length + Object.keys(MAX_LINES).length + 6;
console.log(`${all - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function report(name: string, isFine: boolean, said: string): void {
  if (!isFine) failed++;
  console.log(`${isFine ? "ok    " : "FAILED"} ${name}${said === "" ? "" : `\n${said}`}`);
}

function reportBytes(name: string, size: number, maxBytes: number): void {
  report(`bundle: ${name}: ${size} bytes gzip, at most ${maxBytes}`, size <= maxBytes, "");
}

function linesIn(folder: string): number {
  const files = globSync(`${folder}/**/*.{ts,tsx}`, { exclude: ["**/node_modules/**"] });
  return files.reduce((sum, file) => sum + readFileSync(file, "utf8").split("\n").length - 1, 0);
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
function minified(entry: string, options: readonly string[] = []): Buffer {
  const parameters = [entry, "--minify", "--format=esm", "--target=es2022", ...options];
  return execFileSync("esbuild", parameters, { stdio: "pipe" });
}

function durableBytes(): number {
  const files = [
    "packages/adapters/src/durable.ts",
    ...readdirSync("packages/adapters/src/durable").map(
      (name) => `packages/adapters/src/durable/${name}`,
    ),
  ];
  return gzipSync(Buffer.concat(files.map((file) => minified(file)))).length;
}

/** Returns by how many bytes a bundle of the folder exceeds a bundle of its imports from other folders. */
function addedBytes(folder: string): number {
  const files = readdirSync(folder);
  const inside = files.map((file) => `export * from "./${folder}/${file}";`);
  const outside = files.flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    const imports = text.matchAll(/^import \{([^}]+)\} from "(\.\.\/[^"]+)"/gm);
    return Array.from(imports).flatMap(([, names = "", from = ""]) =>
      names
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && !name.startsWith("type "))
        .map((name) => `export { ${name} } from "./${join(folder, from)}";`),
    );
  });
  return bundledBytes(inside.join("")) - bundledBytes([...new Set(outside)].join(""));
}

/** Bundles the text of a module, without its packages. */
function bundledBytes(text: string): number {
  const options = ["--bundle", "--minify", "--format=esm", "--target=es2022"];
  const parameters = [...options, "--packages=external", "--loader=ts"];
  return gzipSync(execFileSync("esbuild", parameters, { input: text, stdio: "pipe" })).length;
}
