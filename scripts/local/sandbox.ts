/**
 * The process of one run of code on a local server: a Worker that runs code from `remote-loader.ts` in an isolate.
 *
 * Each message on the WebSocket is a JSON array. Received: `worker` with the Worker Loader's argument, `values` and
 * `large` for each variable, `run`, then an `answer` for each `call` and `read`. Sent: `call`, `read`, and finally
 * `done` or `failed`.
 */
import { RpcTarget } from "cloudflare:workers";

interface Env {
  readonly LOADER: WorkerLoader;
  /** The secret path, known only to the server on this machine. */
  readonly SECRET: string;
}

type NamedText = readonly [name: string, text: string];

interface Entrypoint {
  run(host: Host, job: object): Promise<unknown>;
}

export default {
  fetch(request: Request, { LOADER, SECRET }: Env): Response {
    if (new URL(request.url).pathname !== `/${SECRET}`) return new Response(null, { status: 404 });
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    serve(server, LOADER);
    return new Response(null, { status: 101, webSocket: client });
  },
};

function serve(socket: WebSocket, loader: WorkerLoader): void {
  const job = { values: [] as NamedText[], large: [] as NamedText[] };
  const host = new Host(socket);
  let entrypoint: Entrypoint | undefined;
  socket.addEventListener("message", ({ data }) => {
    // Sent by `remote-loader.ts`.
    const [kind, ...rest] = JSON.parse(String(data)) as [string, never, never];
    if (kind === "worker") entrypoint = loader.load(rest[0]).getEntrypoint() as never;
    else if (kind === "values" || kind === "large") job[kind].push(rest);
    else if (kind === "answer") host.answer(...rest);
    else
      void resultOf(() => entrypoint?.run(host, job))
        .then((message) => socket.send(JSON.stringify(message)))
        .finally(() => socket.close(1_000));
  });
}

async function resultOf(run: () => unknown): Promise<readonly unknown[]> {
  try {
    return ["done", await run()];
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

  #send(kind: string, first: unknown, second: unknown): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const id = this.#waiting.push(resolve) - 1;
    this.#socket.send(JSON.stringify([kind, id, first, second]));
    return promise;
  }
}
