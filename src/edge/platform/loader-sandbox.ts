import { compact, isObject } from "../../value/json.ts";
import * as limits from "../../limits.ts";
import { RpcTarget } from "cloudflare:workers";
import { messageOf } from "../../errors.ts";
import { codeTool, type MakeCodeTool } from "../../tool/code/code-tool.ts";
import type { Bindings } from "../bindings.ts";
import type {
  NamedText,
  Sandbox,
  SandboxAnswer,
  SandboxError,
  SandboxJob,
  SandboxRun,
} from "../../tool/code/sandbox.ts";
import { Deadline } from "../../value/deadline.ts";
import { CODE_FILE, codeModule, HARNESS, LINES_BEFORE_CODE } from "./sandbox-harness.ts";

/** Fixed, so that the sandbox does not change with the Worker around it. */
const COMPATIBILITY_DATE = "2026-10-01";

/**
 * `run_code` in dynamic Workers, where a Worker Loader is bound as `LOADER`. Applications pass it to
 * `createRuntime` to let their models run code.
 */
export function runCode(env: object): MakeCodeTool | undefined {
  const { LOADER: loader }: Partial<Bindings> = env;
  if (loader === undefined) return undefined;
  const sandbox = loaderSandbox(loader);
  return (options) => codeTool({ sandbox, ...options });
}

/** A sandbox in a Worker Loader: a new isolate for each run, without network and bindings. */
export function loaderSandbox(loader: WorkerLoader): Sandbox {
  return { run: (job) => runIn(loader, job) };
}

async function runIn(loader: WorkerLoader, job: SandboxJob): Promise<SandboxRun> {
  const host = new Host(job);
  const { timeMs, signal } = job;
  const deadline = new Deadline(timeMs, { signal, error: () => new Error("The time is over.") });
  try {
    const entrypoint = load(loader, job);
    const running = entrypoint.run(host, { values: job.values, large: job.large });
    try {
      const answer: unknown = await deadline.race(running);
      return runFrom(answer);
    } finally {
      // Cancels a run that is no longer awaited.
      running[Symbol.dispose]?.();
    }
  } catch (error) {
    return failed(deadline.signal.aborted ? timeout(job) : broken(error));
  } finally {
    deadline.end();
    host.end();
  }
}

interface Entrypoint {
  run(
    host: Host,
    job: Pick<SandboxJob, "values" | "large">,
  ): Promise<unknown> & Partial<Disposable>;
}

function load(loader: WorkerLoader, { code, values, large }: SandboxJob): Entrypoint {
  const names = [...values, ...large].map(([name]) => name);
  const worker = loader.load({
    compatibilityDate: COMPATIBILITY_DATE,
    compatibilityFlags: ["no_nodejs_compat", "no_nodejs_compat_v2"],
    limits: { cpuMs: limits.codeCpuMs },
    mainModule: "main.js",
    modules: { "main.js": HARNESS, [CODE_FILE]: codeModule(code, names) },
    env: {},
    globalOutbound: null,
  });
  // The harness exports it; its answer is validated before use.
  return worker.getEntrypoint() as unknown as Entrypoint;
}

/** The part of a run that the isolate can reach; it rejects all calls once the run is over. */
class Host extends RpcTarget {
  readonly #job: SandboxJob;
  #isOver = false;

  constructor(job: SandboxJob) {
    super();
    this.#job = job;
  }

  async call(tool: unknown, input: unknown): Promise<SandboxAnswer> {
    if (this.#isOver || typeof tool !== "string" || typeof input !== "string") return REFUSED;
    return this.#job.call(tool, input);
  }

  async read(name: unknown, path: unknown): Promise<SandboxAnswer> {
    if (this.#isOver || typeof name !== "string" || typeof path !== "string") return REFUSED;
    return this.#job.read(name, path);
  }

  end(): void {
    this.#isOver = true;
  }
}

const REFUSED: SandboxAnswer = { error: "The run is over." };

function failed(error: SandboxError): SandboxRun {
  return { assigned: [], console: "", error };
}

function timeout({ timeMs }: SandboxJob): SandboxError {
  return { kind: "timeout", message: `The code did not finish within ${timeMs} ms.` };
}

/** The error of code that is not JavaScript, hangs, exceeds a limit, or ends its own isolate. */
function broken(error: unknown): SandboxError {
  const message = messageOf(error);
  if (message.includes("had hung")) {
    return { kind: "thrown", message: "The code waits for something that never happens." };
  }
  const [, thrown] = /Uncaught (.+)/.exec(message) ?? [];
  const line = lineIn(Number(/code\.js:(\d+)/.exec(message)?.[1]));
  return { kind: "thrown", message: thrown ?? message, ...line };
}

/** Validates the isolate's answer, which the code may have forged. */
function runFrom(answer: unknown): SandboxRun {
  if (!isObject(answer)) return failed(UNREADABLE);
  const { returned, assigned, console, error } = answer;
  const isWhole =
    (returned === undefined || typeof returned === "string") &&
    Array.isArray(assigned) &&
    assigned.every(isNamedText) &&
    typeof console === "string";
  if (!isWhole) return failed(UNREADABLE);
  if (error !== undefined) return { ...failed(errorFrom(error)), console };
  return { ...compact({ returned }), assigned, console };
}

const UNREADABLE: SandboxError = { kind: "thrown", message: "The run ended without an answer." };

function isNamedText(pair: unknown): pair is NamedText {
  return Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "string";
}

function errorFrom(error: unknown): SandboxError {
  if (!isObject(error) || typeof error.message !== "string") return UNREADABLE;
  return { kind: "thrown", message: error.message, ...lineIn(error.line) };
}

/** The line number in the model's own code. */
function lineIn(line: unknown): { readonly line?: number } {
  const own = typeof line === "number" ? line - LINES_BEFORE_CODE : 0;
  return Number.isInteger(own) && own > 0 ? { line: own } : {};
}
