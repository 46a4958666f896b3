/**
 * Measures how many turns two cores can serve: `npm run bench -- saturation --peers`. 50, 200 and 1,000
 * conversations each ask again after each answer, in Byref, over HTTP and over a socket, and in a peer, which
 * has sockets only. workerd starts again for each side and level; the client uses a share of the same cores.
 * `--quick` asks for a shorter time.
 */
import { askInLoop, type LoopResult } from "./ask-loop.ts";
import { plainRow, ratioRows, report, type Row } from "./results.ts";
import { isQuick, present, type Side, startContest } from "./sides.ts";
import { quantile } from "./statistics.ts";

const OURS = ["ours", "ours, by socket"] as const;
type Ours = (typeof OURS)[number];
const PEERS = present(["ai-chat"]);
const SIDES = [...OURS, ...PEERS];
const LEVELS = [50, 200, 1_000];
const FOR_MS = isQuick ? 5_000 : 30_000;
const WARM_UP = 20;

async function measure(side: Side, conversations: number): Promise<LoopResult> {
  const contest = await startContest([side]);
  try {
    const begin = (prefix: string) => (index: number) => contest.talk(side, `${prefix}${index}`);
    await askInLoop(begin("warm"), { conversations: WARM_UP, forMs: 1_000 });
    return await askInLoop(begin("c"), { conversations, forMs: FOR_MS });
  } finally {
    contest.stop();
  }
}

type Found = Partial<Record<Side, LoopResult>>;

const wallOf = ({ wallMs, turnMs }: LoopResult) => wallMs / turnMs.length;
const bestMs: Partial<Record<Side, number>> = {};
for (const conversations of LEVELS) {
  const found: Found = {};
  for (const side of SIDES) {
    const result = await measure(side, conversations);
    found[side] = result;
    bestMs[side] = Math.min(bestMs[side] ?? Number.POSITIVE_INFINITY, wallOf(result));
  }
  const name = `closed loop of ${conversations.toLocaleString("en-US")} conversations`;
  report({
    rows: [
      ...OURS.flatMap((side) => ratiosOf(nameOf(name, side), side, found)),
      ...SIDES.map((side) => failedRow(name, side, found)),
    ],
  });
}
report({
  rows: OURS.flatMap((side) =>
    ratioRows({
      name: `${nameOf("closed loop, saturated", side)}, time for each turn`,
      samples: samplesOf(side, (one) => bestMs[one]),
      unit: "ms",
      // The goal is five times as many turns per second.
      against: { "ai-chat": 0.2 },
    }),
  ),
});

function nameOf(name: string, side: Ours): string {
  return side === "ours" ? name : `${name}, by socket`;
}

/** The figures of one of our sides, as `ours`, and of the peers. */
function samplesOf(ours: Ours, figureOf: (side: Side) => number | undefined) {
  const all = [["ours", figureOf(ours)], ...PEERS.map((peer) => [peer, figureOf(peer)])];
  return Object.fromEntries(all.map(([side, figure]) => [side, [figure ?? Number.NaN]]));
}

/** Compares one of our sides with the peers. */
function ratiosOf(name: string, side: Ours, found: Found): readonly Row[] {
  const samples = (figureOf: (result: LoopResult) => number) =>
    samplesOf(side, (one) => found[one] && figureOf(found[one]));
  const perSecond = samples((result) => 1_000 / wallOf(result)).ours?.[0] ?? Number.NaN;
  return [
    plainRow({ name: `${name}: turns of ours`, value: perSecond, unit: "a second" }),
    ...ratioRows({
      name: `${name}, time for each turn`,
      samples: samples(wallOf),
      unit: "ms",
      against: { "ai-chat": null },
    }),
    ...[0.5, 0.99].flatMap((share) =>
      ratioRows({
        name: `${name}, p${share * 100}`,
        samples: samples((result) => quantile(result.turnMs, share)),
        unit: "ms",
        against: { "ai-chat": share === 0.99 ? 0.5 : null },
      }),
    ),
  ];
}

function failedRow(name: string, side: Side, found: Found): Row {
  const { turnMs = [], failed = 0 } = found[side] ?? {};
  const all = (turnMs.length + failed).toLocaleString("en-US");
  return plainRow(
    { name: `${name}: turns of ${side} that failed`, value: failed, unit: `of ${all}` },
    PEERS.includes(side) ? null : 0,
  );
}
