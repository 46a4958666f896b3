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
const best = new Map<Side, number>(SIDES.map((side) => [side, Number.POSITIVE_INFINITY]));
for (const conversations of LEVELS) {
  const found: Found = {};
  for (const side of SIDES) {
    const result = await measure(side, conversations);
    found[side] = result;
    best.set(side, Math.min(best.get(side) ?? 0, wallOf(result)));
  }
  const name = `closed loop of ${conversations.toLocaleString("en-US")} conversations`;
  report({
    rows: [
      ...OURS.flatMap((side) =>
        ratiosOf(side === "ours" ? name : `${name}, by socket`, side, found),
      ),
      ...SIDES.map((side) => failedRow(name, side, found)),
    ],
  });
}

/** Compares one of our sides with the peers. */
function ratiosOf(name: string, side: (typeof OURS)[number], found: Found): readonly Row[] {
  const samplesOf = (figure: (result: LoopResult) => number) =>
    Object.fromEntries(
      [side, ...PEERS].flatMap((one) => {
        const result = found[one];
        return result === undefined ? [] : [[one === side ? "ours" : one, [figure(result)]]];
      }),
    );
  const turns = 1_000 / (samplesOf(wallOf).ours?.[0] ?? Number.NaN);
  return [
    plainRow({ name: `${name}: turns of ours`, value: turns, unit: "a second" }),
    ...ratioRows({
      name: `${name}, time for each turn`,
      samples: samplesOf(wallOf),
      unit: "ms",
      against: { "ai-chat": null },
    }),
    ...[0.5, 0.99].flatMap((share) =>
      ratioRows({
        name: `${name}, p${share * 100}`,
        samples: samplesOf((result) => quantile(result.turnMs, share)),
        unit: "ms",
        against: { "ai-chat": share === 0.99 ? 0.5 : null },
      }),
    ),
  ];
}

function failedRow(name: string, side: Side, found: Found): Row {
  const { turnMs = [], failed = 0 } = found[side] ?? {};
  const all = (turnMs.length + failed).toLocaleString("en-US");
  const isOurs = side !== "ai-chat";
  return plainRow(
    { name: `${name}: turns of ${side} that failed`, value: failed, unit: `of ${all}` },
    isOurs ? 0 : null,
  );
}

report({
  rows: OURS.flatMap((side) =>
    ratioRows({
      name: `closed loop, saturated${side === "ours" ? "" : ", by socket"}, time for each turn`,
      samples: Object.fromEntries(
        [side, ...PEERS].map((one) => [one === side ? "ours" : one, [best.get(one) ?? Number.NaN]]),
      ),
      unit: "ms",
      // The goal is five times as many turns per second.
      against: { "ai-chat": 0.2 },
    }),
  ),
});
