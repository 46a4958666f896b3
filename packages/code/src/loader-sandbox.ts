import * as z from "zod";
import * as limits from "../../../src/limits.ts";
import { RpcTarget } from "cloudflare:workers";
import { messageOf } from "../../../src/errors.ts";
import { codeTool } from "./code-tool.ts";
import type { Sandbox, SandboxAnswer, SandboxError, SandboxJob, SandboxRun } from "./sandbox.ts";
import type { appEnv } from "../../../src/internal-edge.ts";
import { Deadline, json } from "../../../src/internal.ts";
import type { toolboxes } from "../../../src/internal-tool.ts";

/** Fixed, so that the sandbox does not change with the Worker around it. */
const COMPATIBILITY_DATE = "2026-10-01";

/**
 * `run_code` in dynamic Workers, where a Worker Loader is bound as `LOADER`. Applications pass it to
 * `createRuntime` to let their models run code.
 */
export function runCode(env: object): toolboxes.MakeCodeTool | undefined {
  const { LOADER: loader }: Partial<appEnv.Bindings> = env;
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
  const names = ["tools", "vars", "console", ...[...values, ...large].map(([name]) => name)];
  // A separate block lets the model's code redeclare the names that it receives.
  const module = `export default async function (${names.join(", ")}) {{\n${code}\n}}\n`;
  const worker = loader.load({
    compatibilityDate: COMPATIBILITY_DATE,
    compatibilityFlags: ["no_nodejs_compat", "no_nodejs_compat_v2"],
    limits: { cpuMs: limits.codeCpuMs },
    mainModule: "main.js",
    modules: { "main.js": HARNESS, [CODE_FILE]: module },
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

  call(tool: unknown, input: unknown): Promise<SandboxAnswer> {
    return this.#answer("call", tool, input);
  }

  read(name: unknown, path: unknown): Promise<SandboxAnswer> {
    return this.#answer("read", name, path);
  }

  async #answer(what: "call" | "read", first: unknown, second: unknown): Promise<SandboxAnswer> {
    const isRight = typeof first === "string" && typeof second === "string";
    return isRight && !this.#isOver
      ? this.#job[what](first, second)
      : { error: "The run is over." };
  }

  end(): void {
    this.#isOver = true;
  }
}

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

const answerShape = z.object({
  returned: z.string().optional(),
  assigned: z.array(z.tuple([z.string(), z.string()])),
  console: z.string(),
  error: z.object({ message: z.string(), line: z.unknown().optional() }).optional(),
});

/** Validates the isolate's answer, which the code may have forged. */
function runFrom(answer: unknown): SandboxRun {
  const { data } = answerShape.safeParse(answer);
  if (data === undefined)
    return failed({ kind: "thrown", message: "The run ended without an answer." });
  const { returned, assigned, console, error } = data;
  if (error === undefined) return { ...json.compact({ returned }), assigned, console };
  const { message, line } = error;
  return { ...failed({ kind: "thrown", message, ...lineIn(line) }), console };
}

/** The line number in the model's own code. */
function lineIn(line: unknown): { readonly line?: number } {
  const own = typeof line === "number" ? line - LINES_BEFORE_CODE : 0;
  return Number.isInteger(own) && own > 0 ? { line: own } : {};
}

/** The file with the model's code in the dynamic Worker; errors name lines in it. */
const CODE_FILE = "code.js";
const LINES_BEFORE_CODE = 1;

/**
 * The main module of the dynamic Worker. It is a convenience, not a safety boundary: the code runs in the
 * same isolate and can undo all of it. Safety comes from the isolate, which has no network and no bindings.
 */
const HARNESS = `
import { WorkerEntrypoint } from "cloudflare:workers";

const MAX_CONSOLE_CHARS = 20000;

Reflect.deleteProperty(globalThis, "caches");

// The rules are those of a tool's result (\`toJson\`): nothing is lost without a word.
function jsonOf(value, note = () => undefined) {
  const open = [];
  const text = JSON.stringify(value, function (key, inner) {
    const raw = this[key];
    const json = inner === raw ? plain(raw, note) : inner;
    if (raw instanceof Date && json === null) note("Invalid dates became null.");
    if (typeof json === "bigint") return JSON.rawJSON(json.toString());
    if (typeof json === "function" || typeof json === "symbol") note("Functions and symbols were left out.");
    if (typeof json === "number" && !Number.isFinite(json)) note("Numbers that are not finite became null.");
    while (open.length > 0 && open.at(-1) !== this) open.pop();
    if (raw !== null && typeof raw === "object" && open.includes(raw)) throw refused("A value that contains itself");
    if (json !== null && typeof json === "object") open.push(json);
    return json;
  });
  if (text === undefined && value !== undefined) throw refused("A " + typeof value);
  return text;
}

function plain(value, note) {
  if (value === null || typeof value !== "object") return value;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw refused("A list of bytes", "an array or Base64 text");
  if (value instanceof Promise) throw refused("A promise", "what it resolves to: await it");
  if (value instanceof Map) {
    const entries = Array.from(value, ([key, inner]) => [String(key), inner]);
    if (new Set(entries.map(([key]) => key)).size < entries.length) throw refused("A Map with several keys of the same text", "an array of pairs");
    return Object.fromEntries(entries);
  }
  if (value instanceof Set) return [...value];
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) {
    note("Errors became their name and message.");
    return { name: String(value.name), message: String(value.message) };
  }
  if (BOXES.some((Box) => value instanceof Box)) return value.valueOf();
  const prototype = Object.getPrototypeOf(value);
  const isPlain = prototype === null || prototype === Object.prototype || Array.isArray(value);
  // An iterator, \`Headers\` or a stream has its data elsewhere.
  if (!isPlain && Object.keys(value).length === 0) throw refused("An object of the class " + prototype.constructor?.name, "its data, such as [...it]");
  return value;
}

const BOXES = [Number, String, Boolean, BigInt];

function refused(what, instead = "JSON") {
  return new TypeError(what + " cannot be kept: return " + instead + ".");
}

function written(value) {
  if (value === null || typeof value !== "object") return String(value);
  try {
    if (value instanceof Error) return String(value);
    return jsonOf(value) ?? "undefined";
  } catch {
    return "[" + typeof value + "]";
  }
}

function capture() {
  const lines = [];
  let left = MAX_CONSOLE_CHARS;
  const write = (...values) => {
    if (left <= 0) return;
    const line = values.map(written).join(" ").slice(0, left);
    left -= line.length + 1;
    lines.push(line);
  };
  const methods = ["log", "info", "warn", "error", "debug", "trace", "dir", "table"];
  const own = Object.fromEntries(methods.map((name) => [name, write]));
  const silent = () => undefined;
  const console = new Proxy(own, { get: (_, name) => own[name] ?? silent });
  const notes = new Set();
  const note = (said) => notes.add(said);
  return { console, note, text: () => [...notes, ...lines].join("\\n") };
}

function failure(thrown) {
  try {
    const isError = thrown instanceof Error;
    const said = isError ? String(thrown) : "Thrown: " + written(thrown);
    const stack = isError && typeof thrown.stack === "string" ? thrown.stack : "";
    const line = /\\bcode\\.js:(\\d+)/.exec(stack)?.[1];
    return { message: said.slice(0, 10000), ...(line === undefined ? {} : { line: Number(line) }) };
  } catch {
    return { message: "Thrown: something that cannot be read" };
  }
}

async function settled(answer) {
  const { text, error } = await answer;
  if (error !== undefined) throw new Error(error);
  return parsed(text);
}

// Digits that a double does not give back: whole numbers as BigInts, others as texts.
function parsed(text) {
  if (!/\\d[\\d.]{15}|e[-+]?\\d{3}/i.test(text)) return JSON.parse(text);
  return JSON.parse(text, (key, value, { source }) => {
    if (typeof value !== "number" || String(value) === source) return value;
    return /^-?\\d+$/.test(source) ? BigInt(source) : source;
  });
}

function largeValue(host, name, about) {
  const read = (path = "") => settled(host.read(name, String(path)));
  const slice = (from, to) => read("[" + (from ?? "") + ":" + (to ?? "") + "]");
  return Object.freeze({ ...about, read, slice });
}

export default class extends WorkerEntrypoint {
  async run(host, job) {
    const { console, note, text } = capture();
    globalThis.console = console;
    const vars = Object.create(null);
    const json = (value) => jsonOf(value, note);
    const call = (name) => async (input = {}) => settled(host.call(name, json(input) ?? "{}"));
    const tools = new Proxy(Object.create(null), {
      get: (_, name) => (typeof name === "string" && name !== "then" ? call(name) : undefined),
    });
    const values = job.values.map(([, value]) => parsed(value));
    const large = job.large.map(([name, about]) => largeValue(host, name, JSON.parse(about)));
    try {
      const { default: body } = await import("./code.js");
      const returned = json(await body(tools, vars, console, ...values, ...large));
      const assigned = Object.entries(vars).flatMap(([name, value]) => {
        const text = json(value);
        return text === undefined ? [] : [[name, text]];
      });
      return { ...(returned === undefined ? {} : { returned }), assigned, console: text() };
    } catch (thrown) {
      return { assigned: [], console: text(), error: failure(thrown) };
    }
  }
}
`;
