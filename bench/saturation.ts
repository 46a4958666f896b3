/**
 * Measures how many turns two cores can serve: `npm run bench -- saturation --peers`. 50, 200 and 1,000
 * conversations each ask again after each answer, in Byref and in a peer. workerd starts again for each side and
 * level; the client uses a share of the same cores. `--quick` asks for a shorter time.
 */
import { askInLoop, type LoopResult } from "./ask-loop.ts";
import { plainRow, ratioRows, report } from "./results.ts";
import { isQuick, present, type Side, startContest } from "./sides.ts";
import { quantile } from "./statistics.ts";

const SIDES = present(["ours", "ai-chat"]);
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

const wallOf = ({ wallMs, turnMs }: LoopResult) => wallMs / turnMs.length;
const best = new Map<Side, number>(SIDES.map((side) => [side, Number.POSITIVE_INFINITY]));
for (const conversations of LEVELS) {
  const found: Partial<Record<Side, LoopResult>> = {};
  for (const side of SIDES) {
    const result = await measure(side, conversations);
    found[side] = result;
    best.set(side, Math.min(best.get(side) ?? 0, wallOf(result)));
  }
  const name = `closed loop of ${conversations.toLocaleString("en-US")} conversations`;
  const samplesOf = (figure: (result: LoopResult) => number) =>
    Object.fromEntries(Object.entries(found).map(([side, result]) => [side, [figure(result)]]));
  const { turnMs = [], failed = 0 } = found.ours ?? {};
  const turns = 1_000 / wallOf(found.ours ?? { turnMs: [], failed: 0, wallMs: 0 });
  report({
    rows: [
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
      plainRow(
        {
          name: `${name}: turns of ours that failed`,
          value: failed,
          unit: `of ${(turnMs.length + failed).toLocaleString("en-US")}`,
        },
        0,
      ),
      ...SIDES.filter((side) => side !== "ours").map((side) =>
        plainRow({
          name: `${name}: turns of ${side} that failed`,
          value: found[side]?.failed ?? 0,
          unit: `of ${((found[side]?.turnMs.length ?? 0) + (found[side]?.failed ?? 0)).toLocaleString("en-US")}`,
        }),
      ),
    ],
  });
}
report({
  rows: ratioRows({
    name: "closed loop, saturated, time for each turn",
    samples: Object.fromEntries(Array.from(best, ([side, ms]) => [side, [ms]])),
    unit: "ms",
    // The goal is five times as many turns per second.
    against: { "ai-chat": 0.2 },
  }),
});
