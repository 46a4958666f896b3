import { fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  NamedText,
  Sandbox,
  SandboxError,
  SandboxJob,
  SandboxRun,
} from "../../../../src/tool/code/sandbox.ts";
import { compact, isObject } from "../../../../src/value/json.ts";

/**
 * Runs code in a process of its own, without files, processes, settings and the globals of Node. It keeps
 * mistakes of a model apart from the evaluation. It is no boundary against code that attacks it: run models
 * that you do not trust in a container.
 */
export const processSandbox: Sandbox = { run: runIn };

const UNREADABLE: SandboxError = { kind: "thrown", message: "The run ended without an answer." };

async function runIn(job: SandboxJob): Promise<SandboxRun> {
  const folder = mkdtempSync(join(tmpdir(), "byref-eval-"));
  try {
    const file = join(folder, "run.cjs");
    writeFileSync(file, HARNESS);
    return await answerOf(file, job);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function answerOf(file: string, job: SandboxJob): Promise<SandboxRun> {
  const child = fork(file, [], {
    execArgv: [permission(), `--allow-fs-read=${file}`, "--max-old-space-size=256"],
    env: {},
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  return new Promise((resolve) => {
    const end = (run: SandboxRun) => {
      clearTimeout(timer);
      job.signal.removeEventListener("abort", stop);
      child.kill("SIGKILL");
      resolve(run);
    };
    const timeout = `The code did not finish within ${job.timeMs} ms.`;
    const stop = () => end(failed({ kind: "timeout", message: timeout }));
    const timer = setTimeout(stop, job.timeMs);
    job.signal.addEventListener("abort", stop, { once: true });
    child.on("error", ({ message }) => end(failed({ kind: "thrown", message })));
    child.on("exit", () => end(failed(UNREADABLE)));
    child.on("message", (message: unknown) => {
      if (!isObject(message)) return;
      if (message.run !== undefined) return end(runFrom(message.run));
      void answered(message, job).then((answer) => child.connected && child.send(answer));
    });
    const { code, values, large } = job;
    if (job.signal.aborted) stop();
    else child.send({ code, values, large });
  });
}

/** The flag of this version of Node. */
function permission(): string {
  const { allowedNodeEnvironmentFlags } = process;
  return allowedNodeEnvironmentFlags.has("--permission")
    ? "--permission"
    : "--experimental-permission";
}

async function answered(message: Readonly<Record<string, unknown>>, job: SandboxJob) {
  const { id, tool, input, name, path } = message;
  const answer =
    typeof tool === "string"
      ? await job.call(tool, String(input))
      : await job.read(String(name), String(path));
  return { id, ...answer };
}

/** Checks the answer of the process, which the code may have forged. */
function runFrom(run: unknown): SandboxRun {
  if (!isObject(run)) return failed(UNREADABLE);
  const { returned, assigned, console, error } = run;
  const isWhole =
    (returned === undefined || typeof returned === "string") &&
    typeof console === "string" &&
    Array.isArray(assigned) &&
    assigned.every(isNamedText);
  if (!isWhole) return failed(UNREADABLE);
  if (error !== undefined)
    return { ...failed({ kind: "thrown", message: String(error) }), console };
  return { ...compact({ returned }), assigned, console };
}

function isNamedText(pair: unknown): pair is NamedText {
  return Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "string";
}

function failed(error: SandboxError): SandboxRun {
  return { assigned: [], console: "", error };
}

/** Evaluates the code in a new context, which has none of Node's globals. */
const HARNESS = `
const vm = require("node:vm");
const open = new Map();
let last = 0;
const ask = (question) => new Promise((resolve, reject) => {
  const id = ++last;
  open.set(id, { resolve, reject });
  process.send({ ...question, id });
});
process.on("message", (message) => {
  const { id, text, error, code } = message;
  if (code !== undefined) return void run(message);
  const { resolve, reject } = open.get(id);
  open.delete(id);
  if (error === undefined) resolve(text);
  else reject(new Error(error));
});
async function run({ code, values, large }) {
  const context = vm.createContext(Object.create(null), { codeGeneration: { strings: false, wasm: false } });
  const lines = [];
  const host = {
    call: (tool, input) => ask({ tool, input }),
    read: (name, path) => ask({ name, path }),
    log: (line) => lines.length < 500 && lines.push(String(line).slice(0, 2000)),
  };
  const names = [...values, ...large].map(([name]) => name);
  const answer = { assigned: [], console: "" };
  try {
    const start = vm.runInContext(START, context);
    const body = vm.runInContext("(async function (tools, vars, console, " + names.join(", ") + ") {{\\n" + code + "\\n}})", context);
    const made = await start(host, body, JSON.stringify({ values, large }));
    Object.assign(answer, JSON.parse(made));
  } catch (error) {
    answer.error = String(error);
  }
  process.send({ run: { ...answer, console: lines.join("\\n") } });
}
const START = \`(async (host, body, text) => {
  const { values, large } = JSON.parse(text);
  const written = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? String(value));
  const log = (...all) => host.log(all.map(written).join(" "));
  const console = { log, info: log, warn: log, error: log, debug: log };
  const vars = {};
  const call = (name) => async (input = {}) => JSON.parse(await host.call(name, JSON.stringify(input)));
  const tools = new Proxy({}, { get: (_, name) => (name === "then" ? undefined : call(name)) });
  const parts = large.map(([name, about]) => {
    const read = async (path = "") => JSON.parse(await host.read(name, String(path)));
    return { ...JSON.parse(about), read, slice: (from, to) => read("[" + (from ?? "") + ":" + (to ?? "") + "]") };
  });
  const returned = JSON.stringify(await body(tools, vars, console, ...values.map(([, value]) => JSON.parse(value)), ...parts));
  const assigned = Object.entries(vars).map(([name, value]) => [name, JSON.stringify(value) ?? "null"]);
  return JSON.stringify({ returned, assigned });
})\`;
`;
