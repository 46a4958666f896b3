/**
 * Measures bundle sizes with `wrangler deploy --dry-run --minify`: `npm run bench -- bundle`. Covers the smallest
 * Worker with its own model and tool, of Byref and of the peers.
 */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { bundleWorker } from "./plain-workerd.ts";
import { plainRow, report } from "./results.ts";
import { withPeers } from "./sides.ts";
import { type Spread, spreadOf } from "./statistics.ts";

function gzipKiB(config: string): number {
  const { path } = bundleWorker(config, {});
  return Math.round((gzipSync(readFileSync(path)).length / 1_024) * 100) / 100;
}

const ours = gzipKiB("bundle/wrangler.toml");
const sides = Object.fromEntries(
  ["ai-chat", "think"]
    .filter(() => withPeers)
    .map((name): [string, Spread] => [name, spreadOf([gzipKiB(`peers/bundle/${name}.toml`)])]),
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
