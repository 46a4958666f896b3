/**
 * The process of one run of code on a local server: `remote-loader.ts` calls it with Cap'n Web over a WebSocket, and
 * it runs the code in an isolate.
 */
import { newWorkersWebSocketRpcResponse, RpcTarget } from "capnweb";

interface Env {
  readonly LOADER: WorkerLoader;
  /** The secret path, known only to the server on this machine. */
  readonly SECRET: string;
}

/** The object that `loader-sandbox.ts` passes to a run, and what its entry point takes beside it. */
export interface Entrypoint {
  run(host: object, job: Record<"values" | "large", NamedText[]>): Promise<unknown>;
}

type NamedText = readonly [name: string, text: string];

export class SandboxProcess extends RpcTarget {
  readonly #loader: WorkerLoader;
  readonly #job: Parameters<Entrypoint["run"]>[1] = { values: [], large: [] };

  constructor(loader: WorkerLoader) {
    super();
    this.#loader = loader;
  }

  /** Adds a variable. Each is a message of its own, because messages have a size limit. */
  add(kind: "values" | "large", variable: NamedText): void {
    this.#job[kind].push(variable);
  }

  run(code: WorkerLoaderWorkerCode, host: object): Promise<unknown> {
    const entrypoint = this.#loader.load(code).getEntrypoint() as unknown as Entrypoint;
    return entrypoint.run(host, this.#job);
  }
}

export default {
  fetch(request: Request, { LOADER, SECRET }: Env): Response {
    if (new URL(request.url).pathname !== `/${SECRET}`) return new Response(null, { status: 404 });
    return newWorkersWebSocketRpcResponse(request, new SandboxProcess(LOADER));
  },
};
