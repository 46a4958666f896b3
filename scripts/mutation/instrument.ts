import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Instrumenter } from "@stryker-mutator/instrumenter";

const MUTATED = [
  "src/reference/*.ts",
  "src/turn/log/{journal,log-lines,recovery,turn-log,turn-state}.ts",
];

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
  for (const name of globSync(MUTATED).sort()) {
    files.push({ name: resolve(name), mutate: true, content: readFileSync(name, "utf8") });
  }
  const options = { plugins: null, excludedMutations: [], ignorers: [], noHeader: false };
  return new Instrumenter(logger).instrument(files, options);
}
