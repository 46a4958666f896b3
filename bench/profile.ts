/**
 * Profiles a turn: `npm run bench -- profile`. Runs V8's sampling profiler in workerd, over turns of one
 * delta, which consist mostly of the work between the request and the first part. Each sample counts for the
 * module whose code ran, or for the part of workerd that it called.
 */
import { readFileSync } from "node:fs";
import { requireExact } from "./ask.ts";
import { report } from "./results.ts";
import { bundleWorker, startWorkerd } from "./plain-workerd.ts";
import { classes, isQuick } from "./sides.ts";
import { talkToOurs } from "./talk.ts";

const WARM_UP = 200;
const TURNS = isQuick ? 300 : 2_000;
const SAMPLE_US = 200;

interface Node {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A session with workerd's inspector. */
class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #sent = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
      if (id !== undefined) this.#waiting.get(id)?.(result);
    });
  }

  static async open(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", () => reject(new Error(`No inspector at ${url}`)));
    });
    return new Inspector(socket);
  }

  send(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#sent;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  close(): void {
    this.#socket.close();
  }
}

/** Maps lines of a readable bundle to modules, which wrangler names in comments. */
function modulesIn(path: string): (line: number) => string {
  const starts: { readonly line: number; readonly module: string }[] = [];
  for (const [line, text] of readFileSync(path, "utf8").split("\n").entries()) {
    const [, module] =
      /^\s*\/\/ ((?:\.\.\/)*(?:src|bench|node_modules|[\w-]+\.ts)\S*)$/u.exec(text) ?? [];
    if (module !== undefined) starts.push({ line, module: module.replaceAll("../", "") });
  }
  return (line) => starts.findLast((start) => start.line <= line)?.module ?? "of the bundle";
}

/** The place of a sample: a source folder, a package, or a part of the platform. */
function placeOf({ callFrame }: Node, moduleAt: (line: number) => string): string {
  const { functionName, url, lineNumber } = callFrame;
  if (functionName === "(garbage collector)") return "collecting garbage";
  if (functionName === "(program)") return "workerd and the system";
  if (url === "" || lineNumber < 0) return `the platform: ${functionName || "unnamed"}`;
  const module = moduleAt(lineNumber);
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)/u.exec(module) ?? [];
  if (name !== undefined) return `package ${name}`;
  const [, folder] = /^src\/(\w+)\//u.exec(module) ?? [];
  return folder === undefined ? "the bench and its model" : `src/${folder}`;
}

function sharesOf(profile: Profile, moduleAt: (line: number) => string): Map<string, number> {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const times = new Map<string, number>();
  for (const [index, id] of profile.samples.entries()) {
    const node = nodes.get(id);
    if (node === undefined || node.callFrame.functionName === "(idle)") continue;
    const place = placeOf(node, moduleAt);
    times.set(place, (times.get(place) ?? 0) + (profile.timeDeltas[index] ?? 0));
  }
  return times;
}

function tableOf(times: ReadonlyMap<string, number>): string {
  const all = [...times.values()].reduce((sum, time) => sum + time, 0);
  const sorted = Array.from(times).sort(([, a], [, b]) => b - a);
  const main = sorted.filter(([, time]) => time / all >= 0.01);
  const rest = sorted.slice(main.length).reduce((sum, [, time]) => sum + time, 0);
  const lines = [...main, ["everything below 1 %", rest] as const].map(
    ([place, time]) =>
      `| ${place} | ${((100 * time) / all).toFixed(1)} | ${(time / TURNS).toFixed(0)} |`,
  );
  const heads = ["| where | % | µs a turn |", "| --- | --- | --- |"];
  return [...heads, ...lines, `| all | 100 | ${(all / TURNS).toFixed(0)} |`].join("\n");
}

const bundle = bundleWorker("worker.toml", classes, { isReadable: true });
const server = await startWorkerd({ ours: { bundle } }, { inspected: true });
try {
  const talk = talkToOurs(server.urls.ours, "profiled");
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++)
      requireExact("ours", await talk.ask({ deltas: 1, gapMs: 0 }));
  };
  await turns(WARM_UP);
  const inspector = await Inspector.open(`${server.inspector}/ours`);
  await inspector.send("Profiler.enable");
  await inspector.send("Profiler.setSamplingInterval", { interval: SAMPLE_US });
  await inspector.send("Profiler.start");
  await turns(TURNS);
  const { profile } = (await inspector.send("Profiler.stop")) as { readonly profile: Profile };
  inspector.close();
  const table = tableOf(sharesOf(profile, modulesIn(bundle.path)));
  const head = `A turn of one delta, ${TURNS} of them; what waits for the disk or a socket is not in it.`;
  report({ texts: { profile: `**Profile of a turn.** ${head}\n\n${table}` } });
} finally {
  server.stop();
}
