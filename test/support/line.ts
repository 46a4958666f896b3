import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A connection to a local server that can be cut and restored. */
export interface Line {
  readonly url: string;
  /** Breaks all connections, and refuses new ones. */
  cut(): void;
  mend(): void;
  down(): Promise<void>;
}

export async function startLine(to: string): Promise<Line> {
  const port = Number(new URL(to).port);
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(port, "127.0.0.1");
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.pipe(into);
      // A broken end closes the other one.
      from.on("error", () => into.destroy());
      from.once("close", () => {
        open.delete(from);
        into.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    cut,
    mend: () => {
      isCut = false;
    },
    down: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
