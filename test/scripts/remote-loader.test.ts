import { afterEach, describe, expect, it, vi } from "vitest";
import { remoteLoader } from "../../scripts/local/remote-loader.ts";

const CODE = { mainModule: "main.js", modules: {} } as unknown as WorkerLoaderWorkerCode;

interface Running extends Promise<unknown>, Disposable {}

interface Entrypoint {
  run(host: object, job: object): Running;
}

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

function run(socket: FakeSocket, call: () => Promise<unknown> = async () => ({})): Running {
  vi.stubGlobal("fetch", async () => ({ webSocket: socket }));
  const worker = remoteLoader("http://127.0.0.1:1/secret").load(CODE);
  const entrypoint = worker.getEntrypoint() as unknown as Entrypoint;
  return entrypoint.run({ call, read: call }, { values: [["a", "1"]], large: [] });
}

const later = () => new Promise((done) => setTimeout(done, 0));

describe("a run in the sandbox process", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("does not start if it is cancelled before its socket opens", async () => {
    const socket = new FakeSocket();
    const running = run(socket);
    running[Symbol.dispose]();
    await expect(running).rejects.toThrow("has ended");
    expect(socket).toMatchObject({ sent: [], isClosed: true });
  });

  it("can be cancelled during a tool call", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { promise: working, resolve: finish } = Promise.withResolvers<object>();
    const socket = new FakeSocket();
    const running = run(socket, () => working);
    await later();
    socket.dispatchEvent(new MessageEvent("message", { data: '["call", 0, "tool", "{}"]' }));
    running[Symbol.dispose]();
    await expect(running).rejects.toThrow("has ended");
    finish({ text: "1" });
    await later();
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
