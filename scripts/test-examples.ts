/**
 * Installs the examples that have their own packages, starts them, checks their types and runs their tests: `npm
 * run test:examples`. `-- mastra` tests one.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const examples = readdirSync(join(root, "examples"))
  .filter((name) => existsSync(join(root, "examples", name, "package-lock.json")))
  .sort();
const named = process.argv.slice(2);
const failed = (named.length === 0 ? examples : named).filter((name) => !isGreen(name));
if (failed.length > 0)
  console.error(`Failed: ${failed.join(", ")}. Examples: ${examples.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function isGreen(name: string): boolean {
  console.log(`\n# ${name}`);
  const startMs = Date.now();
  const cwd = join(root, "examples", name);
  const run = (program: string, parameters: readonly string[]) =>
    spawnSync(program, parameters, { cwd, stdio: "inherit" }).status === 0;
  const isFine =
    examples.includes(name) &&
    run("npm", ["ci", "--prefer-offline", "--no-audit", "--no-fund"]) &&
    answersByReference(cwd) &&
    run("npm", ["test"]) &&
    // A page has types of its own.
    readdirSync(cwd)
      .filter((file) => /^tsconfig(?:\.\w+)?\.json$/u.test(file))
      .every((project) => run(join(root, "node_modules/.bin/tsc"), ["-p", project]));
  console.log(`${name}: ${Math.round((Date.now() - startMs) / 1_000)} s`);
  return isFine;
}

/** The output shows the model's text, with a reference or a query of a variable, and the text for the person. */
function answersByReference(cwd: string): boolean {
  const { status, stdout } = spawnSync("npm", ["start", "--silent"], { cwd, encoding: "utf8" });
  console.log(stdout);
  const hasReference = /"\$\w+|"sql":".*FROM/.test(stdout);
  return status === 0 && hasReference && !/(?:sees|It is) .*\$\w+/.test(stdout);
}
