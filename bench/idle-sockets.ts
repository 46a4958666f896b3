/**
 * Measures the memory of objects that hibernate with an open socket, compared with an object that only echoes: `npm
 * run bench -- idle-sockets`. Each socket has received one answer; then the bench waits until the platform evicts
 * the objects. `--quick` opens a tenth of the sockets.
 */
import { requireExact } from "./ask.ts";
import { bundleWorker, startWorkerd } from "./plain-workerd.ts";
import { ratioRows, report } from "./results.ts";
import { classes, isQuick } from "./sides.ts";
import { interleave } from "./statistics.ts";
import { talkToOursOverSocket } from "./talk-socket.ts";

const SOCKETS = isQuick ? 100 : 1_000;
const ROUNDS = isQuick ? 1 : 3;
const WARM_UP = 50;
const OPEN_AT_ONCE = 50;
/** workerd evicts an object 10 s after its last work. */
const IDLE_MS = 15_000;

const bundle = bundleWorker("worker.toml", classes);

const open = {
  ours: async (url: string, name: string) => {
    const talk = talkToOursOverSocket(url, name);
    requireExact("ours", await talk.ask({ deltas: 1, gapMs: 0 }));
    return talk;
  },
  raw: (url: string, name: string) => openEchoed(`${url.replace("http", "ws")}/raw/${name}`),
} satisfies Record<string, (url: string, name: string) => Promise<Opened>>;
type Kind = keyof typeof open;

interface Opened {
  close(): void;
}

/** Memory of the process per socket. */
async function eachKiB(kind: Kind): Promise<number> {
  const server = await startWorkerd({ [kind]: { bundle } });
  const url = server.urls[kind] ?? "";
  const sockets: Opened[] = [];
  const openSome = async (prefix: string, count: number) => {
    for (let from = 0; from < count; from += OPEN_AT_ONCE) {
      const some = Array.from({ length: Math.min(OPEN_AT_ONCE, count - from) }, (_, index) =>
        open[kind](url, `${prefix}${from + index}`),
      );
      sockets.push(...(await Promise.all(some)));
    }
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    return server.usage().bytes;
  };
  try {
    const before = await openSome("warm", WARM_UP);
    const after = await openSome("c", SOCKETS);
    return (after - before) / SOCKETS / 1_024;
  } finally {
    for (const socket of sockets) socket.close();
    server.stop();
  }
}

function openEchoed(url: string): Promise<Opened> {
  const socket = new WebSocket(url);
  return new Promise((resolve, reject) => {
    socket.addEventListener("open", () => socket.send("hello"), { once: true });
    socket.addEventListener("message", () => resolve(socket), { once: true });
    socket.addEventListener("error", () => reject(new Error(`No socket at ${url}`)), {
      once: true,
    });
  });
}

const samples = await interleave(["ours", "raw"], ROUNDS, eachKiB);
report({
  rows: ratioRows({
    name: "memory of a hibernating object with a socket",
    samples,
    unit: "KiB",
    against: { raw: 1.2 },
  }),
});
