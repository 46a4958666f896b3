/**
 * The process of `node-query-engine.ts`, which may be killed at any time. SQLite holds its first thread, so another one
 * ends the process when a call takes too long, or when the program that started it is gone.
 */
import { fileURLToPath } from "node:url";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import * as limits from "../../../../src/limits.ts";
import { callEngine, type QueryEngine } from "../../../query/src/query-engine.ts";
import { type EngineCall, type EngineReply, inProcessEngine } from "./node-query-engine.ts";

const WATCH_MS = 100;
/** On a busy machine a call also ends after this many times its CPU time. */
const BUSY_FACTOR = 3;

/** The number of the call that runs, shared by the threads; 0 if none does. */
type Running = Int32Array<SharedArrayBuffer>;

if (isMainThread) runCalls();
else watch(workerData as Running, Number(process.argv[2]));

function runCalls(): void {
  const engines = new Map<number, QueryEngine>();
  const running: Running = new Int32Array(new SharedArrayBuffer(4));
  const argv = process.argv.slice(2);
  new Worker(fileURLToPath(import.meta.url), { workerData: running, argv }).unref();
  let calls = 0;
  let idle: NodeJS.Timeout | undefined;
  process.on("disconnect", () => process.exit());
  process.on("message", async ({ engine: number, method, input = [] }: EngineCall) => {
    clearTimeout(idle);
    idle = setTimeout(() => process.exit(), limits.idleMs);
    if (method === undefined) {
      engines.delete(number);
      return;
    }
    const engine = engines.get(number) ?? inProcessEngine();
    engines.set(number, engine);
    running[0] = ++calls;
    const reply = await callEngine(engine, method, input).then(
      (output) => ({ output }),
      (error: unknown) => ({ error: String(error) }),
    );
    running[0] = 0;
    process.send?.(reply satisfies EngineReply);
  });
}

function watch(running: Running, cpuMs: number): void {
  const parent = process.ppid;
  let call = 0;
  let cpu = process.cpuUsage();
  let startMs = performance.now();
  setInterval(() => {
    if (running[0] !== call) {
      call = running[0] ?? 0;
      cpu = process.cpuUsage();
      startMs = performance.now();
    }
    const { user, system } = process.cpuUsage(cpu);
    const isLate = performance.now() - startMs > cpuMs * BUSY_FACTOR;
    const isOver = call !== 0 && ((user + system) / 1_000 >= cpuMs || isLate);
    if (isOver || process.ppid !== parent) process.kill(process.pid, "SIGKILL");
  }, WATCH_MS);
}
