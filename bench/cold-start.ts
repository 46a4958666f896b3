/**
 * Measures how much code adds to the start of an isolate: `npm run bench -- cold-start --peers`. Starts workerd in turn
 * with the smallest Worker of an application, of Byref and of the peers, and with an empty one, until the first
 * answer. `--quick` takes few rounds.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bundle, bundleWorker, startWorkerd } from "./plain-workerd.ts";
import { plainRow, report, type Row } from "./results.ts";
import { isQuick, withPeers } from "./sides.ts";
import { interleave, median, spreadOf } from "./statistics.ts";

const ROUNDS = isQuick ? 3 : 15;
const GOAL = 0.5;

const folder = mkdtempSync(join(tmpdir(), "byref-bench-empty-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, "worker.js");
writeFileSync(path, 'export default { fetch: () => new Response("ok") };\n');
const peers = withPeers ? (["ai-chat", "think"] as const) : [];
const bundles: Readonly<Record<string, Bundle>> = {
  empty: { path, classes: {} },
  ours: bundleWorker("bundle/wrangler.toml", { CONVERSATIONS: "Conversation" }),
  ...Object.fromEntries(
    peers.map((peer) => [peer, bundleWorker(`peers/bundle/${peer}.toml`, { Chat: "Chat" })]),
  ),
};

async function startMs(side: string): Promise<number> {
  const bundle = bundles[side];
  if (bundle === undefined) throw new Error(side);
  const beganMs = performance.now();
  const server = await startWorkerd({ [side]: { bundle } });
  const ms = performance.now() - beganMs;
  server.stop();
  return ms;
}

for (const side of Object.keys(bundles)) await startMs(side);
const samples = await interleave(Object.keys(bundles), ROUNDS, startMs);
const sides = Object.fromEntries(
  Object.entries(samples).map(([side, values]) => [side, spreadOf(values)]),
);
/** Milliseconds until the first answer, more than an empty Worker takes. */
const moreOf = (side: string) => median(samples[side] ?? []) - median(samples["empty"] ?? []);

const name = "cold start: until the first answer, more than an empty Worker";
const rows: Row[] = [
  plainRow({ name, value: moreOf("ours"), unit: "ms", against: "empty", sides }),
];
if (peers.length > 0) {
  const value = moreOf("ours") / Math.min(...peers.map(moreOf));
  const against = "the faster peer";
  rows.push(plainRow({ name: `${name}: against ${against}`, value, unit: "times", against }, GOAL));
}
report({ rows });
