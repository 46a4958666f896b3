/**
 * A thousand new conversations at once, a turn of 22 chunks each: `npm run bench -- many`. Against an object
 * that writes the question and the answer to its SQLite and streams the same frames, and does nothing else.
 * Each round starts workerd anew for each of them, in turns; ratios within one run are what counts. The
 * figures and the goals are in `bench/README.md`. `--quick` takes one round.
 */
import { loadavg } from "node:os";
import { messagesOf, textOf } from "../test/support/turn-client.ts";
import { ask, median } from "./ask.ts";
import { answerTo, type Load, questionFor } from "./load.ts";
import { bundleWorker, startWorkerd } from "./plain-workerd.ts";

const SIDES = ["ours", "rows"] as const;
type Side = (typeof SIDES)[number];

const ROUNDS = process.argv.includes("--quick") ? 1 : 3;
const AT_ONCE = 1_000;
/** Before what is measured, so that the code is compiled. */
const WARM_UP = 200;
const READ_AT_ONCE = 20;

interface Sample {
  readonly wallMs: number;
  readonly firstMs: number;
  /** What workerd grew by at most, for each conversation. */
  readonly eachKiB: number;
  /** Of workerd's time on a core, for each conversation. */
  readonly cpuMs: number;
  readonly exact: number;
  /** Question and answer are there afterwards, as they were. */
  readonly kept: number;
  readonly bytes: number;
}

interface Asking {
  readonly name: string;
  readonly load: Load;
}

const bundle = bundleWorker("many", { CONVERSATIONS: "Conversation", ROWS: "Rows" });

async function measure(side: Side): Promise<Sample> {
  const server = await startWorkerd(bundle, [side]);
  const url = server.urls[side];
  const urlOf = (name: string) =>
    side === "ours" ? `${url}/conversations/${name}/messages` : `${url}/rows/${name}`;
  const askAll = (all: readonly Asking[]) =>
    Promise.all(all.map(({ name, load }) => ask(urlOf(name), load)));
  try {
    await askAll(asking("warm", WARM_UP));
    const all = asking("c", AT_ONCE);
    const before = server.usage();
    const startMs = performance.now();
    const answers = await askAll(all);
    const wallMs = performance.now() - startMs;
    const after = server.usage();
    return {
      wallMs,
      firstMs: median(answers.map(({ firstMs }) => firstMs)),
      eachKiB: (after.peakBytes - before.bytes) / AT_ONCE / 1_024,
      cpuMs: (after.cpuMs - before.cpuMs) / AT_ONCE,
      exact: answers.filter(({ isExact }) => isExact).length,
      kept: await countKept(all, (name) => textsOf(side, `${url}`, name)),
      bytes: median(answers.map(({ bytes }) => bytes)),
    };
  } finally {
    server.stop();
  }
}

function asking(prefix: string, count: number): readonly Asking[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `${prefix}${index}`;
    return { name, load: { deltas: 22, gapMs: 20, word: name } };
  });
}

async function countKept(
  all: readonly Asking[],
  read: (name: string) => Promise<readonly string[]>,
): Promise<number> {
  let kept = 0;
  for (let from = 0; from < all.length; from += READ_AT_ONCE) {
    const some = all.slice(from, from + READ_AT_ONCE);
    const texts = await Promise.all(some.map(({ name }) => read(name)));
    kept += some.filter(({ load }, index) => {
      const [question, answer, ...more] = texts[index] ?? [];
      return question === questionFor(load) && answer === answerTo(load) && more.length === 0;
    }).length;
  }
  return kept;
}

async function textsOf(side: Side, url: string, name: string): Promise<readonly string[]> {
  if (side === "ours") return (await messagesOf(`${url}/conversations/${name}`)).map(textOf);
  const response = await fetch(`${url}/rows/${name}`);
  // `Rows` wrote it.
  return ((await response.json()) as { readonly texts: readonly string[] }).texts;
}

interface Figure {
  readonly name: string;
  readonly of: (sample: Sample) => number;
  readonly digits?: number;
  /** Of ours against the other. */
  readonly most?: number;
}

const figures: readonly Figure[] = [
  { name: "wall, ms", of: ({ wallMs }) => wallMs, most: 1.7 },
  { name: "first byte, median, ms", of: ({ firstMs }) => firstMs, most: 1.4 },
  { name: "memory each, at most, KiB", of: ({ eachKiB }) => eachKiB, most: 1.5 },
  { name: "time on a core each, ms", of: ({ cpuMs }) => cpuMs, digits: 2 },
  { name: "bytes of an answer", of: ({ bytes }) => bytes },
];

function print(samples: Readonly<Record<Side, readonly Sample[]>>): void {
  const heads = ["rows", "ours", "ours/rows, median of rounds"].map((head) => head.padEnd(28));
  console.log(`${"".padEnd(28)}${heads.join("")}`);
  for (const { name, of, digits = 0, most } of figures) {
    const cells = (["rows", "ours"] as const).map((side) => range(samples[side].map(of), digits));
    const ratios = samples.ours.map((sample, round) => {
      const other = samples.rows[round];
      return other === undefined ? Number.NaN : of(sample) / of(other);
    });
    const verdict =
      most === undefined ? "" : ` (goal ${most}${median(ratios) > most ? ", MISSED" : ""})`;
    const all = [...cells.map((cell) => cell.padEnd(28)), range(ratios, 2) + verdict];
    console.log(name.padEnd(28) + all.join(""));
  }
  for (const side of SIDES) {
    const [exact, kept] = (["exact", "kept"] as const).map((key) =>
      Math.min(...samples[side].map((sample) => sample[key])),
    );
    console.log(`${side}: exact ${exact}, kept ${kept} of ${AT_ONCE}, in the worst round`);
  }
}

function range(values: readonly number[], digits: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)].map((end) => end.toFixed(digits));
  return `${median(values).toFixed(digits)} (${low} to ${high})`;
}

const samples: Record<Side, Sample[]> = { ours: [], rows: [] };
for (let round = 0; round < ROUNDS; round++) {
  // Whoever comes first in one round comes second in the next.
  for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
    samples[side].push(await measure(side));
  }
}
console.log(`Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}, ${ROUNDS} rounds\n`);
print(samples);
