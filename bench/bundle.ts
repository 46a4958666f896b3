/**
 * Measures bundle sizes with `wrangler deploy --dry-run --minify`: `npm run bench -- bundle`. Covers the smallest
 * Worker with its own model and tool, of Byref and of the peers.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainRow, report } from "./results.ts";
import { withPeers } from "./sides.ts";
import { type Spread, spreadOf } from "./statistics.ts";

const root = join(import.meta.dirname, "..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

function gzipKiB(config: string): number {
  const folder = mkdtempSync(join(tmpdir(), "byref-bundle-"));
  try {
    const parameters = ["deploy", "--config", config, "--dry-run", "--minify", "--outdir", folder];
    const output = execFileSync(process.execPath, [wrangler, ...parameters], {
      cwd: root,
      encoding: "utf8",
      stdio: "pipe",
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
    });
    const [, size] = /gzip: ([\d.]+) KiB/u.exec(output) ?? [];
    if (size === undefined) throw new Error(`wrangler did not say a size:\n${output}`);
    return Number(size);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const ours = gzipKiB("bench/bundle/wrangler.toml");
const sides = Object.fromEntries(
  ["ai-chat", "think"]
    .filter(() => withPeers)
    .map((name): [string, Spread] => [
      name,
      spreadOf([gzipKiB(`bench/peers/bundle/${name}.toml`)]),
    ]),
);
const name = "bundle: createRuntime";
const rows = [
  plainRow({ name, value: ours, unit: "KiB gzip", sides: { ours: spreadOf([ours]), ...sides } }),
];
const chat = sides["ai-chat"];
if (chat !== undefined) {
  const ratio = { value: ours / chat.median, unit: "times", against: "ai-chat" };
  rows.push(plainRow({ name: `${name}, against ai-chat`, ...ratio }, 0.6));
}
report({ rows });
