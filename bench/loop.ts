/**
 * Compares a turn of Byref with the SDK's loop in a bare object, an object that streams the same bytes from
 * memory, and the peers: `npm run bench -- loop`. The figures and the goals are in `bench/README.md`.
 * `--quick` takes few samples.
 */
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import { type Comparison, ratioRows, report } from "./results.ts";
import { isQuick, present, type Side, startContest, withPeers } from "./sides.ts";
import { interleave } from "./statistics.ts";

/** The peers use a socket, so Byref is also measured over one. */
const BY_SOCKET: readonly Side[] = withPeers ? ["ours, by socket"] : [];
const SIDES = present(["bare", "ours", ...BY_SOCKET, "raw", "ai-chat", "think"]);
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
    against: { bare: 0.7, raw: null, ...PEERS },
  },
  {
    name: "first part",
    rounds: isQuick ? 10 : 60,
    run: async (side) => (await askAwake(side, SHORT)).firstMs,
    against: { bare: 0.8, raw: 1.7, ...PEERS },
  },
  {
    name: "whole turn",
    rounds: isQuick ? 10 : 40,
    run: async (side) => (await askAwake(side, WHOLE)).wholeMs,
    against: { bare: 0.15, raw: null, ...PEERS },
  },
  {
    name: "whole turn in 0.86 s",
    rounds: isQuick ? 2 : 8,
    run: async (side) => (await askAwake(side, PACED)).wholeMs,
    against: { bare: null, raw: null, ...PEERS },
  },
  {
    name: "many at once",
    rounds: isQuick ? 1 : 3,
    run: askMany,
    against: { bare: 0.1, raw: 1.5, ...PEERS },
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
  for (const talk of talks) requireExact(side, await talk.ask(SHORT));
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
