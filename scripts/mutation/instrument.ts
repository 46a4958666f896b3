import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Instrumenter } from "@stryker-mutator/instrumenter";

/** What is mutated, by the name of the part, and the tests for it: fast, deterministic and without set-up. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  reference: [
    "src/reference/*.ts",
    "test/reference/{cases,create-expander,expand,expand-texts,inert-text,lookup-in,needs-in,print-value}.test.ts",
    "test/reference/{misses,places,problems,references-in,resolve,streams,syntaxes,urls}.test.ts",
    "test/reference/whole-texts.test.ts",
    "test/agent/expand-stream.test.ts",
  ],
  log: [
    "src/turn/log/{journal,log-lines,recovery,turn-log,turn-state}.ts",
    "test/turn/{journal,log-lines,turn-log,turn-log-watchers,turn-state}.test.ts",
  ],
  tools: [
    "src/tool/{call-flow,flow-of-call,misfit-hint,policy,prepared-save,save-result}.ts",
    "src/tool/{save-target,shown-result,tool-call,tool-input}.ts",
    "test/tool/{approval-request,call-failures,call-flow,check-input,json-schema-of}.test.ts",
    "test/tool/{misfit-hint,policy,result-name,run-tool,runtime-tool-saved}.test.ts",
    "test/tool/{save-places,save-result,save-target,shown-result}.test.ts",
  ],
  schemas: [
    "src/tool/{composed,run-tool,strict-slots,tool-output,try-paths,unknown-parameters}.ts",
    "src/tool/{widen-schema,wrap-tool,wrapped-tool}.ts",
    "test/tool/{composed,composed-bounds,described-results,policy,run-tool,strict-slots}.test.ts",
    "test/tool/{tool-result,try-paths,unknown-parameters,widen-schema,wrap-tool}.test.ts",
    "test/tool/wrapped-calls.test.ts",
    "test/agent/{wrap-tools,wrap-tools-kinds}.test.ts",
  ],
  gateway: [
    "src/gateway/{approvals,call-journal,call-result,call-results,calling-clients}.ts",
    "src/gateway/{client-variables,configuration,json-text,offered-tools,running-call}.ts",
    "src/gateway/{tool-lists,unique-names}.ts",
    "test/gateway/{approvals,as-received,call-journal,client-variables,configuration}.test.ts",
    "test/gateway/{described-tools,gateway,guarded-calls,passed-through,questions}.test.ts",
    "test/gateway/{tool-lists,unique-names}.test.ts",
    "test/gateway/{approval-state,call-result,call-results,calling-clients}.test.ts",
    "test/gateway/{configuration-problems,json-text,offered-tools,running-call}.test.ts",
    "test/gateway/{show-variable,taint,tool-list-times}.test.ts",
  ],
};

/** The files of each run: those of each named part (default: of all parts), or the named files. */
export function runsOf(names: readonly string[]): readonly (readonly string[])[] {
  if (names.some((name) => name.includes("/"))) return [names];
  return (names.length > 0 ? names : Object.keys(PARTS)).map((name) => {
    const files = PARTS[name];
    if (files !== undefined) return files;
    throw new Error(`There is no part ${name}; there are ${Object.keys(PARTS).join(", ")}.`);
  });
}

/** The files of this run, from `MUTATION_FILES`. */
function named(folder: "src/" | "test/"): readonly string[] {
  const files = process.env["MUTATION_FILES"]?.split(" ") ?? [];
  return files.filter((name) => name.startsWith(folder));
}

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
