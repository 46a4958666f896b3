/**
 * Rows that do not measure speed: replayed tool calls and killed servers. Each runs a separate script; the row counts the runs that found a fault. `--quick` takes few of each.
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
  /** Arguments of Node for each run, in the project's folder. */
  readonly runs: readonly (readonly string[])[];
}

/** Runs the script once with each list of parameters. */
function runsOf(script: string, ...all: readonly (readonly string[])[]): Proof["runs"] {
  return all.map((parameters) => [`scripts/${script}`, ...parameters]);
}

const hasRecorded = existsSync(recorded);

const proofs: readonly Proof[] = [
  {
    name: "exactness: replays of recorded calls that differ",
    runs: hasRecorded
      ? runsOf("replay.ts", [recorded], ["--as-plans", recorded], ["--through-gateway", recorded])
      : [],
  },
  {
    // This many kills among variables, and as many in turns and plans.
    name: "crashes: runs of kills with a broken promise",
    runs: runsOf("chaos.ts", ["--kills", isQuick ? "3" : "100"]),
  },
];

for (const { name, runs } of proofs) {
  if (runs.length === 0) {
    console.log(`${name}: not proved here, because it is quick or nothing is recorded (REPLAY).`);
    continue;
  }
  const failed = runs.filter(
    (parameters) =>
      spawnSync(process.execPath, parameters, { cwd: root, stdio: "inherit" }).status !== 0,
  );
  report({ rows: [plainRow({ name, value: failed.length, unit: `of ${runs.length}` }, 0)] });
}
