import { relative } from "node:path";
import type {
  Reporter,
  SerializedError,
  TestCase,
  TestModule,
  TestSpecification,
  TestSuite,
  Vitest,
} from "vitest/node";

/** What a run of Vitest sends to `scripts/test.ts`. */
export type TestReport =
  | { readonly kind: "files"; readonly paths: readonly string[] }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly project: string;
      readonly passed: number;
      readonly skipped: number;
      readonly ms: number;
      readonly failures: readonly Failure[];
    }
  | { readonly kind: "error"; readonly text: string };

type ConsoleLog = Parameters<NonNullable<Reporter["onUserConsoleLog"]>>[0];

interface Failure {
  readonly name: string;
  /** The errors, and what the test printed. */
  readonly text: string;
}

/**
 * Sends the result of each file to the parent process. What tests print goes to stdout, which the parent keeps; what
 * a failed test printed goes with its failure.
 */
export default class TestReporter implements Reporter {
  #vitest: Vitest | undefined;
  readonly #printed = new Map<string, string[]>();

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const paths = specifications.map(({ moduleId }) => this.#pathOf(moduleId));
    send({ kind: "files", paths });
  }

  onUserConsoleLog({ content, taskId = "" }: ConsoleLog): void {
    process.stdout.write(content);
    const printed = this.#printed.get(taskId) ?? [];
    this.#printed.set(taskId, [...printed, content]);
  }

  onTestModuleEnd(module: TestModule): void {
    const tests = [...module.children.allTests()];
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const suites = [module, ...module.children.allSuites()];
    send({
      kind: "file",
      path: this.#pathOf(module.moduleId),
      project: module.project.name,
      passed: count("passed"),
      skipped: count("skipped"),
      ms: module.diagnostic().duration,
      failures: [
        ...suites.flatMap((suite) => this.#failureOf(suite, suite.errors())),
        ...tests.flatMap((test) => this.#failureOf(test, test.result().errors ?? [])),
      ],
    });
    this.#printed.clear();
  }

  onTestRunEnd(_: readonly TestModule[], errors: readonly SerializedError[]): void {
    for (const error of errors) send({ kind: "error", text: this.#textOf(error) });
  }

  #failureOf(task: TestModule | TestSuite | TestCase, errors: readonly unknown[]): Failure[] {
    if (errors.length === 0) return [];
    const path = this.#pathOf(task.type === "module" ? task.moduleId : task.module.moduleId);
    const name = task.type === "module" ? path : `${path} > ${task.fullName}`;
    const printed = this.#printed.get(task.id) ?? [];
    return [{ name, text: [...errors.map((error) => this.#textOf(error)), ...printed].join("\n") }];
  }

  #textOf(error: unknown): string {
    return this.#vitest?.logger.formatError(error).output ?? String(error);
  }

  #pathOf(moduleId: string): string {
    return relative(this.#vitest?.config.root ?? "", moduleId);
  }
}

function send(report: TestReport): void {
  process.send?.(report);
}
