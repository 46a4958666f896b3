/**
 * Runs all tests: `npm test`, and the long ones: `npm run test:large`. Those that start servers and browsers mostly
 * wait, so the others run beside them. Arguments go to Vitest, for instance part of a file's name; then one process
 * runs all projects, so that a name that no file has is an error.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

const HALVES = {
  all: [
    ["--project=process", "--project=browser"],
    ["--project=node", "--project=workerd"],
  ],
  large: [
    ["--project=large-process"],
    ["--project=large", "--project=large-workerd", "--maxWorkers=1"],
  ],
} as const;

const isLarge = process.argv[2] === "--large";
const given = process.argv.slice(isLarge ? 3 : 2);
const halves = HALVES[isLarge ? "large" : "all"];
const runs = given.length === 0 ? halves : [[...halves.flat(), ...given]];

async function passes(parameters: readonly string[]): Promise<boolean> {
  const vitest = spawn("vitest", ["run", ...parameters], { stdio: "inherit" });
  const [status] = (await once(vitest, "exit")) as [number | null];
  return status === 0;
}

const passed = await Promise.all(runs.map(passes));
if (!passed.every(Boolean)) {
  console.error("Tests have failed: see above.");
  process.exitCode = 1;
}
