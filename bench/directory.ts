/**
 * Writes to the Directory on plain workerd: `npm run bench -- directory`. First, one Directory writes as fast as it
 * answers. Then 10,000 writes a second, due at even times, are divided among more and more shards, until a single
 * shard answers its last write within `LATE_MS`. Each shard and its clients run in one isolate, so the clients'
 * time counts too. A write changes one of 100,000 entries, which the shards share.
 */
import type { Drive, Driven } from "./directory/drive.ts";
import type { Metered } from "./meter.ts";
import { bundleWorker, type PlainWorkerd, startWorkerd } from "./plain-workerd.ts";
import { plainRow, report, type Row } from "./results.ts";
import { spreadOf } from "./statistics.ts";

const isQuick = process.argv.includes("--quick");
const ENTRIES = isQuick ? 10_000 : 100_000;
const WRITES_PER_SECOND = 10_000;
const SECONDS = isQuick ? 2 : 4;
const SHARDS = [1, 2, 4, 8];
/** A step passes if all answers arrive within this time after the end of its writes. */
const LATE_MS = 250;
/** Number of entries that one call fills. */
const FILLED = 10_000;
const METERED_WRITES = 100;
const LISTS = 500;

const bundle = bundleWorker("directory/worker.toml", { DIRECTORY: "Directory" });

interface Shards {
  readonly server: PlainWorkerd<string>;
  readonly urls: readonly string[];
}

/** Starts this number of Directories and divides the entries among them. */
async function startShards(count: number, settings: Record<string, string> = {}): Promise<Shards> {
  const names = Array.from({ length: count }, (_, number) => `shard-${number}`);
  const server = await startWorkerd(
    Object.fromEntries(names.map((name) => [name, { bundle, settings }])),
  );
  const urls = names.map((name) => `${server.urls[name]}/directory`);
  const each = ENTRIES / count;
  for (let from = 0; from < each; from += FILLED) {
    const filled = Math.min(FILLED, each - from);
    await Promise.all(urls.map((url) => send(`${url}/fill`, { from, count: filled })));
  }
  return { server, urls };
}

async function send<Answer>(url: string, body?: unknown): Promise<Answer> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

interface Step {
  readonly perSecond: number;
  readonly latenciesMs: readonly number[];
  readonly lateMs: number;
  readonly coreMs: number;
}

/** Drives all shards at the same time. */
async function step({ server, urls }: Shards, wanted: Omit<Drive, "entries">): Promise<Step> {
  const drive: Drive = { ...wanted, entries: ENTRIES / urls.length };
  const before = server.usage().cpuMs;
  const driven = await Promise.all(urls.map((url) => send<Driven>(`${url}/drive`, drive)));
  const latenciesMs = driven.flatMap((one) => one.latenciesMs);
  const elapsedMs = Math.max(...driven.map((one) => one.elapsedMs));
  return {
    perSecond: (latenciesMs.length / elapsedMs) * 1_000,
    latenciesMs,
    lateMs: elapsedMs - wanted.seconds * 1_000,
    coreMs: (server.usage().cpuMs - before) / latenciesMs.length,
  };
}

async function metered(): Promise<readonly Row[]> {
  const { server, urls } = await startShards(1, { METER: "on" });
  const [url = ""] = urls;
  try {
    const counts = async () => (await send<Metered>(new URL("/bench/meter", url).href)).rowsWritten;
    const filled = (await counts()) / ENTRIES;
    const rate = { writesPerSecond: METERED_WRITES, clients: 1, seconds: 1, entries: ENTRIES };
    await send(`${url}/drive`, rate);
    const changed = (await counts()) / METERED_WRITES;
    const bytes = (await send<number>(`${url}/bytes`)) / ENTRIES;
    const startMs = performance.now();
    await send(`${url}/lists`, { count: LISTS });
    const listMs = (performance.now() - startMs) / LISTS;
    return [
      plainRow({ name: "directory: rows written for a new entry", value: filled, unit: "rows" }),
      plainRow({
        name: "directory: rows written for a changed entry",
        value: changed,
        unit: "rows",
      }),
      plainRow({ name: "directory: storage of an entry", value: bytes, unit: "bytes" }),
      plainRow({ name: "directory: list of 20 entries, mean", value: listMs, unit: "ms" }),
    ];
  } finally {
    server.stop();
  }
}

async function saturated(): Promise<readonly Row[]> {
  const shards = await startShards(1);
  try {
    const wanted = { writesPerSecond: 0, clients: 256, seconds: SECONDS };
    const { perSecond, latenciesMs, coreMs } = await step(shards, wanted);
    print("one Directory, 256 clients", { perSecond, latenciesMs, lateMs: 0, coreMs });
    const unit = "writes a second";
    return [
      plainRow({ name: "directory: one, as fast as it answers", value: perSecond, unit }),
      plainRow({ name: "directory: core time of a write", value: coreMs, unit: "ms" }),
    ];
  } finally {
    shards.server.stop();
  }
}

/**
 * Finds the fewest shards of which one, alone, manages its share of the writes. Then runs all of them together, on
 * the cores of this machine.
 */
async function tenThousand(): Promise<readonly Row[]> {
  const name = "directory: 10,000 writes a second";
  for (const count of SHARDS) {
    const alone = await driveSome(1, WRITES_PER_SECOND / count);
    print(`the share of one of ${count} shards, alone`, alone);
    if (alone.lateMs > LATE_MS) continue;
    const together = await driveSome(count, WRITES_PER_SECOND / count);
    print(`${count} shards together`, together);
    const { median } = spreadOf(alone.latenciesMs);
    const perSecond = { value: together.perSecond, unit: "writes a second" };
    return [
      plainRow({ name: `${name}, shards`, value: count, unit: "shards" }),
      plainRow({ name: `${name}, a shard alone, median`, value: median, unit: "ms" }),
      plainRow({ name: `${name}, a shard alone, p99`, value: p99(alone.latenciesMs), unit: "ms" }),
      plainRow({ name: `${name}, all shards on this machine`, ...perSecond }),
    ];
  }
  return [];
}

async function driveSome(count: number, writesPerSecond: number): Promise<Step> {
  const shards = await startShards(count);
  const wanted = { writesPerSecond, clients: 0, seconds: SECONDS };
  return step(shards, wanted).finally(() => shards.server.stop());
}

function print(name: string, { perSecond, latenciesMs, lateMs, coreMs }: Step): void {
  const { median } = spreadOf(latenciesMs);
  const figures = [
    `${perSecond.toFixed(0)} a second`,
    `median ${median.toFixed(1)} ms`,
    `p99 ${p99(latenciesMs).toFixed(1)} ms`,
    `last answer ${lateMs.toFixed(0)} ms late`,
    `${coreMs.toFixed(3)} ms on a core each`,
  ];
  console.log(`${name}: ${figures.join(", ")}`);
}

function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
}

report({ rows: [...(await metered()), ...(await saturated()), ...(await tenThousand())] });
