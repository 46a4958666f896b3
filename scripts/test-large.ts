/**
 * Runs the long tests: `npm run test:large`. Those that start servers run one file at a time and mostly wait, so the
 * others run beside them, on one core. Arguments go to Vitest, for instance part of a file's name.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

const halves = [
  ["--project=large-process"],
  ["--project=large", "--project=large-workerd", "--maxWorkers=1"],
];

async function runVitest(projects: readonly string[]): Promise<boolean> {
  const parameters = ["run", "--passWithNoTests", ...projects, ...process.argv.slice(2)];
  const [status] = (await once(spawn("vitest", parameters, { stdio: "inherit" }), "exit")) as [
    number | null,
  ];
  return status === 0;
}

const passed = await Promise.all(halves.map(runVitest));
process.exitCode = passed.every(Boolean) ? 0 : 1;
