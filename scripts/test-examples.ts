/**
 * Installs the examples that have their own packages, starts them, checks their types and runs their tests: `npm
 * run test:examples`. `-- mastra` tests one.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { exampleFolders } from "./example-folders.ts";

const root = join(import.meta.dirname, "..");
const named = process.argv.slice(2);
const folders = exampleFolders().filter(
  (folder) => named.length === 0 || named.includes(basename(folder)),
);
const failed = folders.filter((folder) => !isGreen(folder));
for (const folder of failed) console.error(`${folder} failed.`);
if (folders.length < named.length) console.error(`Examples: ${exampleFolders().join(", ")}`);
process.exitCode = failed.length === 0 && folders.length >= named.length ? 0 : 1;

/** True if the example starts, and answers by reference. */
function says(cwd: string): boolean {
  const { status, stdout } = spawnSync("npm", ["start", "--silent"], { cwd, encoding: "utf8" });
  console.log(stdout);
  // The output shows the model's text, with a reference or a query of a variable, and the text for the person.
  const isByReference =
    /"\$\w+|"sql":".*FROM/.test(stdout) && !/(?:sees|It is) .*\$\w+/.test(stdout);
  const isFine = status === 0 && isByReference;
  if (!isFine) console.error(`npm start in ${cwd} failed, or did not answer by reference.`);
  return isFine;
}

/** A page has types of its own. */
function projectsIn(cwd: string): readonly string[] {
  return readdirSync(cwd).filter((name) => /^tsconfig(?:\.\w+)?\.json$/u.test(name));
}

function isGreen(folder: string): boolean {
  console.log(`\n# ${folder}`);
  const beganMs = Date.now();
  const cwd = join(root, folder);
  const run = (program: string, parameters: readonly string[]) =>
    spawnSync(program, parameters, { cwd, stdio: "inherit" }).status === 0;
  const isFine =
    run("npm", ["ci", "--prefer-offline", "--no-audit", "--no-fund"]) &&
    says(cwd) &&
    run("npm", ["test"]) &&
    projectsIn(cwd).every((project) => run(join(root, "node_modules/.bin/tsc"), ["-p", project]));
  console.log(`${folder}: ${Math.round((Date.now() - beganMs) / 1_000)} s`);
  return isFine;
}
