import { expect, it, vi } from "vitest";
import { remoteLoader } from "../../scripts/local/remote-loader.ts";

const CODE = { mainModule: "main.js", modules: {} } as unknown as WorkerLoaderWorkerCode;

interface Running extends Promise<unknown>, Disposable {}

type Entrypoint = { run(host: object, job: object): Running };

/** Like workerd's WebSocket, throws if `send` is called after `close`. */
class FakeSocket extends EventTarget {
  readonly sent: string[] = [];
  isClosed = false;

  accept(): void {}

  send(text: string): void {
    if (this.isClosed) throw new TypeError("Can't call WebSocket send() after close().");
    this.sent.push(text);
  }

  close(): void {
    this.isClosed = true;
    this.dispatchEvent(new Event("close"));
  }
}

/** Starts a run. `lease` is the body of the answer that keeps its process alive. */
function run(socket: FakeSocket, call: () => Promise<unknown> = async () => ({})) {
  const cancel = vi.fn();
  const lease = new ReadableStream({
    start: (controller) =>
      controller.enqueue(new TextEncoder().encode("http://127.0.0.1:2/secret")),
    cancel,
  });
  const stub = vi.fn(async (url: string) =>
    url.endsWith("/code") ? new Response(lease) : { webSocket: socket },
  );
  vi.stubGlobal("fetch", stub);
  const worker = remoteLoader("http://127.0.0.1:1/secret").load(CODE);
  const entrypoint = worker.getEntrypoint() as unknown as Entrypoint;
  const job = { values: [["a", "1"]], large: [] };
  return { running: entrypoint.run({ call, read: call }, job), cancel };
}

const messagesOf = ({ sent }: FakeSocket) => sent.map((text) => JSON.parse(text) as unknown[]);

it("a run in a process of its own is sent, returns its result, and ends its process", async () => {
  const socket = new FakeSocket();
  const { running, cancel } = run(socket);
  const sent = [["worker", CODE], ["values", "a", "1"], ["run"]];
  await vi.waitFor(() => expect(messagesOf(socket)).toEqual(sent));
  expect(cancel).not.toHaveBeenCalled();
  socket.dispatchEvent(new MessageEvent("message", { data: '["done", {"console": ""}]' }));
  expect(await running).toEqual({ console: "" });
  expect(cancel).toHaveBeenCalledOnce();
});

it("a run in a process of its own ends if its process ends", async () => {
  const socket = new FakeSocket();
  const { running } = run(socket);
  await vi.waitFor(() => expect(socket.sent).toHaveLength(3));
  socket.close();
  await expect(running).rejects.toThrow("has ended");
});

it("a run in a process of its own can be cancelled during a tool call, which ends its process", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const { promise: working, resolve: finish } = Promise.withResolvers<object>();
  const socket = new FakeSocket();
  const call = vi.fn(() => working);
  const { running, cancel } = run(socket, call);
  await vi.waitFor(() => expect(socket.sent).toHaveLength(3));
  socket.dispatchEvent(new MessageEvent("message", { data: '["call", 0, "tool", "{}"]' }));
  expect(call).toHaveBeenCalledOnce();
  running[Symbol.dispose]();
  await expect(running).rejects.toThrow("has ended");
  finish({ text: "1" });
  await new Promise((done) => setTimeout(done, 0));
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
  expect(cancel).toHaveBeenCalledOnce();
});
