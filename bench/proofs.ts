/**
 * Rows that do not measure speed: replayed tool calls, killed servers, hostile input. Each runs a separate
 * script; the row counts the runs that found a fault. `--quick` takes few of each.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { plainRow, report } from "./results.ts";
import { isQuick } from "./sides.ts";

const root = join(import.meta.dirname, "..");
/** Recorded calls are not part of the project. They are in `REPLAY=FOLDER`, or in the folder that CI uses. */
const recorded = process.env.REPLAY ?? join(root, "../shared/cases/replay");

interface Proof {
  readonly name: string;
  readonly script: string;
  readonly runs: readonly (readonly string[])[];
}

const proofs: readonly Proof[] = [
  {
    name: "exactness: replays of recorded calls that differ",
    script: "replay.ts",
    runs: existsSync(recorded) ? [[recorded], ["--as-plans", recorded]] : [],
  },
  {
    // This many kills among variables, and as many in turns and plans.
    name: "crashes: runs of kills with a broken promise",
    script: "chaos.ts",
    runs: [["--kills", isQuick ? "3" : "250"]],
  },
  {
    name: "hostile input: runs of random texts that differ",
    script: "fuzz.ts",
    runs: [[isQuick ? "200000" : "10000000"]],
  },
  {
    // JSONTestSuite, naughty strings, prototype paths, linear time.
    name: "hostile input: rows of the scorecard that are not met",
    script: "scorecard.ts",
    runs: isQuick ? [["S7"]] : [["S6"], ["S7"], ["S9"], ["S15"]],
  },
];

for (const { name, script, runs } of proofs) {
  if (runs.length === 0) {
    console.log(`${name}: nothing is recorded here; set REPLAY to a folder.`);
    continue;
  }
  const failed = runs.filter((parameters) => {
    const command = [join(root, "scripts", script), ...parameters];
    const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: "inherit" });
    return status !== 0;
  });
  report({ rows: [plainRow({ name, value: failed.length, unit: `of ${runs.length}` }, 0)] });
}
