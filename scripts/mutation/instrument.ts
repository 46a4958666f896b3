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

/**
 * The files named in `npm run mutation -- src/a.ts test/a.test.ts`, passed in `MUTATION_FILES`. Default: the
 * list above.
 */
function named(folder: "src/" | "test/"): readonly string[] {
  const files = process.env["MUTATION_FILES"]?.split(" ") ?? [...MUTATED, ...TESTS];
  return files.filter((name) => name.startsWith(folder));
}

/** The tests that run for each mutant: fast, deterministic and without set-up. */
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

/** The sources with all their mutants, each behind a switch; the ids are stable. */
export async function instrumented() {
  const files = [];
  for (const name of globSync([...named("src/")]).sort()) {
    files.push({ name: resolve(name), mutate: true, content: readFileSync(name, "utf8") });
  }
  const options = { plugins: null, excludedMutations: [], ignorers: [], noHeader: false };
  return new Instrumenter(logger).instrument(files, options);
}
