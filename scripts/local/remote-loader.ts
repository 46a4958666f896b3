import type { SandboxJob } from "../../packages/code/src/sandbox.ts";

/** The object that `loader-sandbox.ts` passes to a run. */
interface Host {
  call(tool: unknown, input: unknown): Promise<unknown>;
  read(name: unknown, path: unknown): Promise<unknown>;
}

interface Run {
  readonly code: WorkerLoaderWorkerCode;
  readonly host: Host;
  readonly job: Pick<SandboxJob, "values" | "large">;
}

const ENDED =
  "The process that runs code has ended: code used too much CPU time or too much memory.";

/**
 * A Worker Loader whose Workers run in processes of `side-server.ts` at the URL, one for each run. Implements the part
 * of the interface that `run_code` uses.
 */
export function remoteLoader(url: string): WorkerLoader {
  const load = (code: WorkerLoaderWorkerCode) => ({
    getEntrypoint: () => ({
      run: (host: Host, job: Run["job"]) => {
        const cancelled = new AbortController();
        const running = finish(url, { code, host, job }, cancelled.signal);
        // As RPC does, disposing of the promise cancels the run.
        return Object.assign(running, { [Symbol.dispose]: () => cancelled.abort() });
      },
    }),
  });
  return { load } as unknown as WorkerLoader;
}

async function finish(url: string, { code, host, job }: Run, cancelled: AbortSignal) {
  // The process ends with this answer.
  const lease = (await fetch(`${url}/code`, { signal: cancelled })).body?.getReader();
  try {
    const { value } = (await lease?.read()) ?? {};
    if (value === undefined) throw new Error(ENDED);
    const headers = { upgrade: "websocket" };
    const address = new TextDecoder().decode(value);
    const { webSocket } = await fetch(address, { headers, signal: cancelled });
    if (webSocket === null) throw new Error(ENDED);
    return await resultOf(webSocket, { code, host, job }, cancelled);
  } catch (error) {
    throw cancelled.aborted ? new Error(ENDED) : error;
  } finally {
    await lease?.cancel().catch(() => undefined);
  }
}

function resultOf(socket: WebSocket, { code, host, job }: Run, cancelled: AbortSignal) {
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
  const end = () => reject(new Error(ENDED));
  for (const event of ["close", "error"] as const) socket.addEventListener(event, end);
  cancelled.addEventListener("abort", () => socket.close(1_000));
  socket.accept();
  send("worker", code);
  // Sent separately: messages have a size limit, and so do values.
  for (const kind of ["values", "large"] as const)
    for (const pair of job[kind]) send(kind, ...pair);
  send("run");
  return promise;
}
