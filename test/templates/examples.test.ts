import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const examples = globSync("examples/*/package-lock.json", { cwd: root }).map(dirname).sort();

it.each(examples)(
  "%s installs, answers by reference, passes its tests, and has types",
  (example) => {
    const cwd = join(root, example);
    const run = (program: string, ...parameters: readonly string[]) =>
      execFileSync(program, parameters, { cwd, encoding: "utf8", stdio: "pipe" });
    run("npm", "ci", "--prefer-offline", "--no-audit", "--no-fund");
    const said = run("npm", "start", "--silent");
    // The model's text has a reference or a query of a variable, and the text for the person has none.
    expect(said).toMatch(/"\$\w+|"sql":".*FROM/);
    expect(said).not.toMatch(/(?:sees|It is) .*\$\w+/);
    // `npm start` has installed byref.
    run("npm", "test", "--ignore-scripts");
    // A page has types of its own.
    for (const project of globSync("tsconfig*.json", { cwd }))
      run(join(root, "node_modules/.bin/tsc"), "-p", project);
  },
);
