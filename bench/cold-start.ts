/**
 * Measures how much the code of Byref adds to the start of an isolate: `npm run bench -- cold-start`. Starts
 * workerd in turn with the smallest Worker of an application and with an empty one, until the first answer. `--quick`
 * takes few rounds.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Bundle, bundleWorker, startWorkerd } from "./plain-workerd.ts";
import { plainRow, report } from "./results.ts";
import { isQuick } from "./sides.ts";
import { interleave, median, spreadOf } from "./statistics.ts";

const ROUNDS = isQuick ? 3 : 15;
const GOAL_MS = 25;

const folder = mkdtempSync(join(tmpdir(), "byref-bench-empty-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, "worker.js");
writeFileSync(path, 'export default { fetch: () => new Response("ok") };\n');
const smallest = "../scripts/bundle/wrangler.toml";
const bundles: Readonly<Record<"ours" | "empty", Bundle>> = {
  ours: bundleWorker(smallest, { CONVERSATIONS: "Conversation" }),
  empty: { path, classes: {} },
};

async function startMs(side: "ours" | "empty"): Promise<number> {
  const beganMs = performance.now();
  const server = await startWorkerd({ [side]: { bundle: bundles[side] } });
  const ms = performance.now() - beganMs;
  server.stop();
  return ms;
}

await startMs("ours");
const { ours, empty } = await interleave(["empty", "ours"], ROUNDS, startMs);
report({
  rows: [
    plainRow(
      {
        name: "cold start: until the first answer, more than an empty Worker",
        value: median(ours) - median(empty),
        unit: "ms",
        against: "empty",
        sides: { ours: spreadOf(ours), empty: spreadOf(empty) },
      },
      GOAL_MS,
    ),
  ],
});
