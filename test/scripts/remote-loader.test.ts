import { newWebSocketRpcSession, RpcTarget } from "capnweb";
import { expect, it, vi } from "vitest";
import { remoteLoader } from "../../scripts/local/remote-loader.ts";
import type { Entrypoint } from "../../scripts/local/sandbox.ts";

const CODE = { mainModule: "main.js", modules: {} } as unknown as WorkerLoaderWorkerCode;

interface Host {
  call(): Promise<object>;
}

/** One end of a connection. Like workerd's WebSocket, throws if `send` is called after `close`. */
class FakeSocket extends EventTarget {
  other: FakeSocket | undefined;
  readyState: number = WebSocket.OPEN;

  accept(): void {}

  send(data: string): void {
    if (this.readyState !== WebSocket.OPEN) throw new TypeError("Can't call send() after close().");
    queueMicrotask(() => this.other?.dispatchEvent(new MessageEvent("message", { data })));
  }

  close(): void {
    for (const end of [this, this.other]) {
      if (end?.readyState !== WebSocket.OPEN) continue;
      end.readyState = WebSocket.CLOSED;
      end.dispatchEvent(new Event("close"));
    }
  }
}

/** Starts a run in a process that calls the host and returns what it received, and the answer. */
function run(call: () => Promise<object>) {
  const near = new FakeSocket();
  const far = new FakeSocket();
  [near.other, far.other] = [far, near];
  class Process extends RpcTarget {
    readonly added: unknown[] = [];

    add(...variable: readonly unknown[]): void {
      this.added.push(variable);
    }

    async run(code: unknown, host: Host): Promise<unknown> {
      return [code, this.added, await host.call()];
    }
  }
  newWebSocketRpcSession(far as unknown as WebSocket, new Process());
  const cancel = vi.fn();
  const address = new TextEncoder().encode("http://127.0.0.1:2/secret");
  // The body of the answer that keeps the process alive.
  const lease = new ReadableStream({ start: (controller) => controller.enqueue(address), cancel });
  vi.stubGlobal("fetch", async (url: string) =>
    url.endsWith("/code") ? new Response(lease) : { webSocket: near },
  );
  const entrypoint = remoteLoader("http://127.0.0.1:1/secret").load(CODE).getEntrypoint();
  const host = new (class extends RpcTarget {
    call(): Promise<object> {
      return call();
    }
  })();
  const running = (entrypoint as unknown as Entrypoint).run(host, {
    values: [["a", "1"]],
    large: [["b", "{}"]],
  }) as Promise<unknown> & Disposable;
  return { running, cancel, far };
}

it("a run in a process of its own is sent, returns its result, and ends its process", async () => {
  const { running, cancel } = run(async () => ({ text: "2" }));
  const added = [
    ["values", ["a", "1"]],
    ["large", ["b", "{}"]],
  ];
  expect(await running).toEqual([CODE, added, { text: "2" }]);
  expect(cancel).toHaveBeenCalledOnce();
});

it("a run in a process of its own ends if its process ends", async () => {
  const call = vi.fn(() => new Promise<object>(() => {}));
  const { running, cancel, far } = run(call);
  await vi.waitFor(() => expect(call).toHaveBeenCalledOnce());
  expect(cancel).not.toHaveBeenCalled();
  far.close();
  await expect(running).rejects.toThrow("has ended");
});

it("a run in a process of its own can be cancelled during a tool call, which ends its process", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const { promise: working, resolve: finish } = Promise.withResolvers<object>();
  const call = vi.fn(() => working);
  const { running, cancel } = run(call);
  await vi.waitFor(() => expect(call).toHaveBeenCalledOnce());
  running[Symbol.dispose]();
  await expect(running).rejects.toThrow("has ended");
  finish({ text: "1" });
  await new Promise((done) => setTimeout(done, 0));
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
  expect(cancel).toHaveBeenCalledOnce();
});
