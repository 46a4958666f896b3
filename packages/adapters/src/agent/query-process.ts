/**
 * The process of `node-query-engine.ts`, which may be killed at any time. SQLite runs in a thread, so that the
 * process can end a query, and ends with the program that started it.
 */
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import * as limits from "../../../../src/limits.ts";
import { callEngine, type QueryEngine, TOO_LONG } from "../../../query/src/query-engine.ts";
import { type EngineCall, type EngineReply, inProcessEngine } from "./node-query-engine.ts";

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin. */

const WATCH_MS = 100;
/** On a busy machine a call also ends after this many times its CPU time. */
const BUSY_FACTOR = 3;

if (isMainThread) passCalls();
else runCalls();

function passCalls(): void {
  const maximum = Number(process.argv[2]);
  const thread = new Worker(fileURLToPath(import.meta.url));
  let idle: NodeJS.Timeout | undefined;
  let watch: NodeJS.Timeout | undefined;
  process.on("message", (call: EngineCall) => {
    clearTimeout(idle);
    idle = setTimeout(end, limits.idleMs);
    thread.postMessage(call);
    if (call.method === undefined) return;
    const before = process.cpuUsage();
    const started = performance.now();
    watch = setInterval(() => {
      const { user, system } = process.cpuUsage(before);
      const isLate = performance.now() - started > maximum * BUSY_FACTOR;
      if ((user + system) / 1_000 < maximum && !isLate) return;
      clearInterval(watch);
      const answer = call.method === "run" ? { output: TOO_LONG } : { error: "It took too long." };
      process.send?.({ ...answer, isLast: true } satisfies EngineReply, end);
    }, WATCH_MS);
  });
  thread.on("message", (reply: unknown) => {
    clearInterval(watch);
    process.send?.(reply);
  });
  thread.on("error", end);
  process.on("disconnect", end);
}

/** `process.exit` waits for the thread, which SQLite may hold for hours. */
function end(): void {
  process.kill(process.pid, "SIGKILL");
}

function runCalls(): void {
  const engines = new Map<number, QueryEngine>();
  parentPort?.on("message", ({ engine: number, method, input = [] }: EngineCall) => {
    if (method === undefined) {
      engines.delete(number);
      return;
    }
    const engine = engines.get(number) ?? inProcessEngine();
    engines.set(number, engine);
    callEngine(engine, method, input).then(
      (output) => parentPort?.postMessage({ output } satisfies EngineReply),
      (error: unknown) => parentPort?.postMessage({ error: String(error) } satisfies EngineReply),
    );
  });
}
