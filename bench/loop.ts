/**
 * Compares a turn of Byref with the SDK's loop in a bare object and the peers: `npm run bench -- loop`. The figures and the goals are in `bench/README.md`.
 * `--quick` takes few samples.
 */
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import { type Comparison, ratioRows, report } from "./results.ts";
import { isQuick, present, type Side, startContest } from "./sides.ts";
import { interleave } from "./statistics.ts";

const SIDES = present(["bare", "ours", "ai-chat", "think"]);
const WHOLE: Load = { deltas: 400, gapMs: 0 };
const PACED: Load = { deltas: 400, gapMs: 2.15 };
const SHORT: Load = { deltas: 1, gapMs: 0 };
const AT_ONCE = 100;

interface Task {
  readonly name: string;
  readonly rounds: number;
  readonly run: (side: Side) => Promise<number>;
  readonly against: Comparison["against"];
}

const PEERS = { "ai-chat": null, think: null };
const tasks: readonly Task[] = [
  {
    name: "first part, new conversation",
    rounds: isQuick ? 10 : 60,
    run: async (side) => {
      const talk = contest.talk(side, newName());
      const { firstMs } = requireExact(side, await talk.ask(SHORT));
      talk.close();
      return firstMs;
    },
    against: { bare: 1, ...PEERS },
  },
  {
    name: "first part",
    rounds: isQuick ? 10 : 60,
    run: async (side) => (await askAwake(side, SHORT)).firstMs,
    against: { bare: 0.9, ...PEERS },
  },
  {
    name: "whole turn",
    rounds: isQuick ? 10 : 40,
    run: async (side) => (await askAwake(side, WHOLE)).wholeMs,
    against: { bare: 0.06, ...PEERS },
  },
  {
    name: "many at once",
    rounds: isQuick ? 1 : 3,
    run: askMany,
    against: { bare: 0.08, ...PEERS },
  },
];

const contest = await startContest(SIDES);
let names = 0;

function newName(): string {
  return `c${++names}`;
}

/** Asks a conversation that has answered once, so that the first access is not measured. */
async function askAwake(side: Side, load: Load) {
  const talk = contest.talk(side, newName());
  requireExact(side, await talk.ask(SHORT));
  const answer = requireExact(side, await talk.ask(load));
  talk.close();
  return answer;
}

async function askMany(side: Side): Promise<number> {
  const talks = Array.from({ length: AT_ONCE }, () => contest.talk(side, newName()));
  await Promise.all(talks.map(async (talk) => requireExact(side, await talk.ask(SHORT))));
  const startMs = performance.now();
  for (const answer of await Promise.all(talks.map((talk) => talk.ask(PACED))))
    requireExact(side, answer);
  const wallMs = performance.now() - startMs;
  for (const talk of talks) talk.close();
  return wallMs;
}

try {
  for (const { name, rounds, run, against } of tasks) {
    if (rounds > 5) for (const side of SIDES) await run(side);
    const samples = await interleave(SIDES, rounds, run);
    report({ rows: ratioRows({ name, samples, unit: "ms", against }) });
  }
} finally {
  contest.stop();
}
