import { newWebSocketRpcSession } from "capnweb";
import type { Entrypoint, SandboxProcess } from "./sandbox.ts";

const ENDED =
  "The process that runs code has ended: code used too much CPU time or too much memory.";

/**
 * A Worker Loader whose Workers run in processes of `side-server.ts` at the URL, one for each run. Implements the part
 * of the interface that `run_code` uses.
 */
export function remoteLoader(url: string): WorkerLoader {
  const load = (code: WorkerLoaderWorkerCode) => ({
    getEntrypoint: () => ({
      run: (...[host, job]: Parameters<Entrypoint["run"]>) => {
        const cancelled = new AbortController();
        const running = finish(url, { code, host, job }, cancelled.signal);
        // As RPC does, disposing of the promise cancels the run.
        return Object.assign(running, { [Symbol.dispose]: () => cancelled.abort() });
      },
    }),
  });
  return { load } as unknown as WorkerLoader;
}

interface Run {
  readonly code: WorkerLoaderWorkerCode;
  readonly host: object;
  readonly job: Parameters<Entrypoint["run"]>[1];
}

async function finish(url: string, { code, host, job }: Run, cancelled: AbortSignal) {
  // The process ends with this answer.
  const lease = (await fetch(`${url}/code`, { signal: cancelled })).body?.getReader();
  let hasEnded = false;
  try {
    const { value } = (await lease?.read()) ?? {};
    const address = new TextDecoder().decode(value);
    const headers = { upgrade: "websocket" };
    const { webSocket } = await fetch(address, { headers, signal: cancelled });
    if (webSocket === null) throw new Error(ENDED);
    for (const event of ["close", "error"] as const)
      webSocket.addEventListener(event, () => (hasEnded = true));
    cancelled.addEventListener("abort", () => webSocket.close(1_000));
    webSocket.accept();
    using sandbox = newWebSocketRpcSession<SandboxProcess>(webSocket);
    const added = (["values", "large"] as const).flatMap((kind) =>
      job[kind].map((variable) => sandbox.add(kind, variable)),
    );
    await Promise.all(added);
    return await sandbox.run(code, host);
  } catch (error) {
    throw hasEnded || cancelled.aborted ? new Error(ENDED) : error;
  } finally {
    await lease?.cancel().catch(() => undefined);
  }
}
