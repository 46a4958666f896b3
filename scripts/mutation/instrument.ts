import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Instrumenter } from "@stryker-mutator/instrumenter";

const MUTATED = [
  "src/reference/*.ts",
  "src/turn/log/{journal,log-lines,recovery,turn-log,turn-state}.ts",
];
const TESTS = [
  "test/reference/{cases,expand,lookup-in,places,problems,references-in}.test.ts",
  "test/reference/{resolve,streams,syntaxes,urls}.test.ts",
  "test/turn/{journal,log-lines,turn-log,turn-log-watchers,turn-state}.test.ts",
];

/** What `npm run mutation -- src/a.ts test/a.test.ts` names, which it passes on in `MUTATION_FILES`; else the list above. */
function named(folder: "src/" | "test/"): readonly string[] {
  const files = process.env["MUTATION_FILES"]?.split(" ") ?? [...MUTATED, ...TESTS];
  return files.filter((name) => name.startsWith(folder));
}

/** The tests that are run for each mutant: quick ones, with nothing random and nothing to set up. */
export const testFiles = () => [...named("test/")];

const silent = () => undefined;
const logger = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
};

/** The sources with all of their mutants in them, each behind a switch; the ids are the same each time. */
export async function instrumented() {
  const files = [];
  for (const name of globSync([...named("src/")]).sort()) {
    files.push({ name: resolve(name), mutate: true, content: readFileSync(name, "utf8") });
  }
  const options = { plugins: null, excludedMutations: [], ignorers: [], noHeader: false };
  return new Instrumenter(logger).instrument(files, options);
}
