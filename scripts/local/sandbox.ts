/**
 * The second process of `run_code` on a local server: a Worker that runs code from `remote-loader.ts` in
 * isolates. Code that never yields its thread blocks this process, not the server.
 *
 * Each run has a WebSocket, and each message is a JSON array. Received: `worker` with the Worker Loader's
 * argument, `value` and `large` for each variable, `run`, then an `answer` for each `call` and `read`. Sent:
 * `call`, `read`, and finally `done` or `failed`.
 */
import { RpcTarget } from "cloudflare:workers";

interface Env {
  readonly LOADER: WorkerLoader;
  /** The secret path, known only to the server on this machine. */
  readonly SECRET: string;
}

type NamedText = readonly [name: string, text: string];

interface Job {
  readonly values: readonly NamedText[];
  readonly large: readonly NamedText[];
}

interface Entrypoint {
  run(host: Host, job: Job): Promise<unknown>;
}

interface Run {
  readonly code: WorkerLoaderWorkerCode;
  readonly host: Host;
  readonly job: Job;
}

/**
 * Number of health checks so far. The supervisor sends the second after it has received the response to the
 * first; from then on it detects code that blocks the process. Code that ran before could block it
 * undetected.
 */
let healthChecks = 0;

export default {
  fetch(request: Request, { LOADER, SECRET }: Env): Response {
    const { pathname } = new URL(request.url);
    if (pathname === "/health") {
      healthChecks++;
      return new Response("ok");
    }
    if (pathname !== `/${SECRET}`) return new Response("Not found", { status: 404 });
    // The caller tries again.
    if (healthChecks < 2) return new Response("Not watched yet", { status: 503 });
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    serve(server, LOADER);
    return new Response(null, { status: 101, webSocket: client });
  },
};

function serve(socket: WebSocket, loader: WorkerLoader): void {
  const values: NamedText[] = [];
  const large: NamedText[] = [];
  const host = new Host(socket);
  let code: WorkerLoaderWorkerCode | undefined;
  socket.addEventListener("message", ({ data }) => {
    const [kind, ...rest] = JSON.parse(String(data)) as [string, ...never[]];
    if (kind === "worker") [code] = rest;
    else if (kind === "value") values.push(rest as unknown as NamedText);
    else if (kind === "large") large.push(rest as unknown as NamedText);
    else if (kind === "answer") host.answer(...(rest as unknown as [number, unknown]));
    else if (kind === "run" && code !== undefined) {
      void result(loader, { code, host, job: { values, large } })
        .then((message) => socket.send(JSON.stringify(message)))
        .finally(() => socket.close(1_000));
    }
  });
}

async function result(loader: WorkerLoader, run: Run): Promise<readonly unknown[]> {
  try {
    const entrypoint = loader.load(run.code).getEntrypoint() as unknown as Entrypoint;
    return ["done", await entrypoint.run(run.host, run.job)];
  } catch (error) {
    return ["failed", error instanceof Error ? error.message : String(error)];
  }
}

/** The object that the code can reach. Each call is sent to the server and waits for its answer. */
class Host extends RpcTarget {
  readonly #socket: WebSocket;
  readonly #waiting: ((answer: unknown) => void)[] = [];

  constructor(socket: WebSocket) {
    super();
    this.#socket = socket;
  }

  call(tool: unknown, input: unknown): Promise<unknown> {
    return this.#send("call", tool, input);
  }

  read(name: unknown, path: unknown): Promise<unknown> {
    return this.#send("read", name, path);
  }

  answer(id: number, answer: unknown): void {
    this.#waiting[id]?.(answer);
    delete this.#waiting[id];
  }

  #send(kind: "call" | "read", first: unknown, second: unknown): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const id = this.#waiting.push(resolve) - 1;
    this.#socket.send(JSON.stringify([kind, id, first, second]));
    return promise;
  }
}
