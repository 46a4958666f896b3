/**
 * The turn's loop against the SDK's in a bare object, and against an object that streams the same bytes
 * from memory: `npm run bench -- loop`. Rounds alternate between them; ratios within one run are what
 * counts. The figures and the goals are in `bench/README.md`. `--quick` takes few samples.
 */
import { loadavg } from "node:os";
import { type Load, questionFor } from "./load.ts";
import { bundleWorker, startWorkerd } from "./plain-workerd.ts";

const SIDES = ["bare", "ours", "raw"] as const;
type Side = (typeof SIDES)[number];

const isQuick = process.argv.includes("--quick");
const WHOLE: Load = { deltas: 400, gapMs: 0 };
const PACED: Load = { deltas: 400, gapMs: 2.15 };
const SHORT: Load = { deltas: 1, gapMs: 0 };
const AT_ONCE = 100;

interface Timing {
  readonly firstMs: number;
  readonly wholeMs: number;
}

interface Task {
  readonly name: string;
  readonly rounds: number;
  readonly run: (side: Side) => Promise<number>;
  readonly goals: readonly { readonly against: Side; readonly most: number }[];
}

const tasks: readonly Task[] = [
  {
    name: "first part, new conversation",
    rounds: isQuick ? 10 : 60,
    run: async (side) => (await ask(side, newName(), SHORT)).firstMs,
    goals: [],
  },
  {
    name: "first part",
    rounds: isQuick ? 10 : 60,
    run: async (side) => (await askAwake(side, SHORT)).firstMs,
    goals: [{ against: "bare", most: 0.8 }],
  },
  {
    name: "400 deltas, no delay",
    rounds: isQuick ? 10 : 40,
    run: async (side) => (await askAwake(side, WHOLE)).wholeMs,
    goals: [{ against: "bare", most: 0.15 }],
  },
  {
    name: "400 deltas in 0.86 s",
    rounds: isQuick ? 2 : 8,
    run: async (side) => (await askAwake(side, PACED)).wholeMs,
    goals: [],
  },
  {
    name: `${AT_ONCE} at once, each as above`,
    rounds: isQuick ? 1 : 3,
    run: askMany,
    goals: [
      { against: "bare", most: 0.1 },
      { against: "raw", most: 1.5 },
    ],
  },
];

const classes = { CONVERSATIONS: "Conversation", BARE: "Bare", RAW: "Raw" };
const server = await startWorkerd(bundleWorker("loop", classes), SIDES);
let names = 0;

function newName(): string {
  return `c${++names}`;
}

/** An object that has answered once: what is measured is a turn, not a first touch. */
async function askAwake(side: Side, load: Load): Promise<Timing> {
  const name = newName();
  await ask(side, name, SHORT);
  return ask(side, name, load);
}

async function askMany(side: Side): Promise<number> {
  const conversations = Array.from({ length: AT_ONCE }, newName);
  for (const name of conversations) await ask(side, name, SHORT);
  const startMs = performance.now();
  await Promise.all(conversations.map((name) => ask(side, name, PACED)));
  return performance.now() - startMs;
}

async function ask(side: Side, name: string, load: Load): Promise<Timing> {
  const path = side === "ours" ? `conversations/${name}/messages` : `${side}/${name}`;
  const message = { role: "user", parts: [{ type: "text", text: questionFor(load) }] };
  const startMs = performance.now();
  const response = await fetch(`${server.urls[side]}/${path}`, {
    method: "POST",
    headers: { accept: "text/event-stream", "content-type": "application/json" },
    body: JSON.stringify({ message }),
  });
  let firstMs = Number.NaN;
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (Number.isNaN(firstMs) && text.includes("text-delta")) firstMs = performance.now() - startMs;
  }
  const wholeMs = performance.now() - startMs;
  requireWhole(side, text, load);
  return { firstMs, wholeMs };
}

/** Whoever says less is faster. Ours may send several deltas as one. */
function requireWhole(side: Side, text: string, { deltas }: Load): void {
  const said = text.split("word ").length - 1;
  if (said !== deltas || !text.includes('"finish"')) {
    throw new Error(`${side} said ${said} of ${deltas} words:\n${text.slice(0, 1_000)}`);
  }
}

function quantile(sorted: readonly number[], at: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN;
}

async function measure({ name, rounds, run, goals }: Task): Promise<void> {
  const samples: Record<Side, number[]> = { bare: [], ours: [], raw: [] };
  for (const side of SIDES) if (rounds > 5) await run(side);
  for (let round = 0; round < rounds; round++) {
    for (const side of SIDES) samples[side].push(await run(side));
  }
  const medians = Object.fromEntries(
    SIDES.map((side) => [
      side,
      quantile(
        samples[side].sort((a, b) => a - b),
        0.5,
      ),
    ]),
  ) as Record<Side, number>;
  const cells = SIDES.map((side) => {
    const [low, high] = [0.1, 0.9].map((at) => quantile(samples[side], at).toFixed(1));
    return `${medians[side].toFixed(1)} (${low} to ${high})`.padEnd(26);
  });
  const ratios = (["bare", "raw"] as const).map((against) => {
    const goal = goals.find((candidate) => candidate.against === against);
    const ratio = medians.ours / medians[against];
    const verdict =
      goal === undefined ? "" : ` (goal ${goal.most}${ratio > goal.most ? ", MISSED" : ""})`;
    return `${ratio.toFixed(2)}${verdict}`.padEnd(24);
  });
  console.log(name.padEnd(30) + cells.join("") + ratios.join(""));
}

console.log(
  `Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}; ms: median (10 % to 90 % of the samples)\n`,
);
const heads = [...SIDES.map((side) => side.padEnd(26)), "ours/bare".padEnd(24), "ours/raw"];
console.log(`${"".padEnd(30)}${heads.join("")}`);
try {
  for (const task of tasks) await measure(task);
} finally {
  server.stop();
}
