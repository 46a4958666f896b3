/**
 * Runs all tests: `npm test`, and the long ones: `npm run test:large`. Those that start servers and browsers mostly
 * wait, so the others run beside them. Arguments go to Vitest, for instance part of a file's name.
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

const given = process.argv.slice(2);
const isLarge = given[0] === "--large";

async function runVitest(half: readonly string[]): Promise<boolean> {
  const parameters = ["run", "--passWithNoTests", ...half, ...given.slice(isLarge ? 1 : 0)];
  const [status] = (await once(spawn("vitest", parameters, { stdio: "inherit" }), "exit")) as [
    number | null,
  ];
  return status === 0;
}

const passed = await Promise.all(HALVES[isLarge ? "large" : "all"].map(runVitest));
if (!passed.every(Boolean)) {
  console.error("Tests have failed: see above.");
  process.exitCode = 1;
}
