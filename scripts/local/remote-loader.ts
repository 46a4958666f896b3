import type { NamedText, SandboxJob } from "../../packages/code/src/sandbox.ts";

/** The object that `loader-sandbox.ts` passes to a run. */
interface Host {
  call(tool: unknown, input: unknown): Promise<unknown>;
  read(name: unknown, path: unknown): Promise<unknown>;
}

type Job = Pick<SandboxJob, "values" | "large">;

interface Run {
  readonly code: WorkerLoaderWorkerCode;
  readonly host: Host;
  readonly job: Job;
}

const PAUSE_MS = 100;
const ENDED =
  "The process that runs code has ended: code ran too long without a pause, or used too much memory.";

/**
 * A Worker Loader whose Workers run in the process at the URL (`sandbox.ts`). Implements the part of the
 * interface that `run_code` uses.
 */
export function remoteLoader(url: string): WorkerLoader {
  const load = (code: WorkerLoaderWorkerCode) => ({
    getEntrypoint: () => ({ run: (host: Host, job: Job) => start(url, { code, host, job }) }),
  });
  return { load } as unknown as WorkerLoader;
}

/** Starts a run. Disposing of the promise, as RPC does, cancels the run. */
function start(url: string, run: Run): Promise<unknown> & Disposable {
  const cancelled = new AbortController();
  const running = finish(url, run, cancelled.signal);
  return Object.assign(running, { [Symbol.dispose]: () => cancelled.abort() });
}

async function finish(url: string, { code, host, job }: Run, cancelled: AbortSignal) {
  const socket = await connect(url, cancelled);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const send = (...message: readonly unknown[]) => socket.send(JSON.stringify(message));
  const handlers = { call: host.call.bind(host), read: host.read.bind(host) };
  socket.addEventListener("message", ({ data }) => {
    const [kind, ...rest] = JSON.parse(String(data)) as [string, ...unknown[]];
    if (kind === "done") resolve(rest[0]);
    if (kind === "failed") reject(new Error(String(rest[0])));
    if (kind !== "call" && kind !== "read") return;
    const [id, first, second] = rest;
    // The socket may be closed by now; the answer is then dropped.
    handlers[kind](first, second)
      .then((answer) => send("answer", id, answer))
      .catch(() => undefined);
  });
  socket.addEventListener("close", () => reject(new Error(ENDED)));
  socket.addEventListener("error", () => reject(new Error(ENDED)));
  cancelled.addEventListener("abort", () => socket.close(1_000));
  socket.accept();
  send("worker", code);
  // Sent separately: messages have a size limit, and so do values.
  const each = (kind: string, pairs: readonly NamedText[]) => {
    for (const pair of pairs) send(kind, ...pair);
  };
  each("value", job.values);
  each("large", job.large);
  send("run");
  return promise;
}

/** Connects, and waits while the process restarts. */
async function connect(url: string, cancelled: AbortSignal): Promise<WebSocket> {
  for (;;) {
    try {
      const { webSocket } = await fetch(url, { headers: { upgrade: "websocket" } });
      if (webSocket && !cancelled.aborted) return webSocket;
      webSocket?.accept();
      webSocket?.close(1_000);
    } catch {
      // The process is not listening yet.
    }
    if (cancelled.aborted) throw new Error(ENDED);
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
}
