/**
 * Measures how many turns two cores can serve: `npm run bench -- saturation --peers`. A thousand conversations
 * each ask again after each answer, in Byref over HTTP and in a peer over sockets, which is all that it has.
 * workerd starts again for each side; the client uses a share of the same cores. `--quick` asks for a shorter
 * time, in fewer conversations.
 */
import { askInLoop, type LoopResult } from "./ask-loop.ts";
import { plainRow, ratioRows, report } from "./results.ts";
import { isQuick, present, type Side, startContest } from "./sides.ts";
import { quantile } from "./statistics.ts";

const SIDES = present(["ours", "ai-chat"]);
const CONVERSATIONS = isQuick ? 100 : 1_000;
const FOR_MS = isQuick ? 5_000 : 30_000;
const WARM_UP = 20;

async function measure(side: Side): Promise<LoopResult> {
  const contest = await startContest([side]);
  try {
    const begin = (prefix: string) => (index: number) => contest.talk(side, `${prefix}${index}`);
    await askInLoop(begin("warm"), { conversations: WARM_UP, forMs: 1_000 });
    return await askInLoop(begin("c"), { conversations: CONVERSATIONS, forMs: FOR_MS });
  } finally {
    contest.stop();
  }
}

const found = new Map<Side, LoopResult>();
for (const side of SIDES) found.set(side, await measure(side));
for (const [side, { failed }] of found)
  if (failed > 0) console.error(`${failed} of ${side} failed.`);
if (found.get("ours")?.failed !== 0) process.exitCode = 1;

const name = `closed loop of ${CONVERSATIONS.toLocaleString("en-US")} conversations`;
const samplesOf = (figureOf: (result: LoopResult) => number) =>
  Object.fromEntries(Array.from(found, ([side, result]) => [side, [figureOf(result)]]));

const { turnMs = [], wallMs = 0 } = found.get("ours") ?? {};
report({
  rows: [
    plainRow({
      name: `${name}: turns of ours`,
      value: (1_000 * turnMs.length) / wallMs,
      unit: "a second",
    }),
    ...ratioRows({
      name: `${name}, time for each turn`,
      samples: samplesOf((one) => one.wallMs / one.turnMs.length),
      unit: "ms",
      // The goal is five times as many turns a second.
      against: { "ai-chat": 0.2 },
    }),
    ...ratioRows({
      name: `${name}, p99`,
      samples: samplesOf((one) => quantile(one.turnMs, 0.99)),
      unit: "ms",
      against: { "ai-chat": 0.5 },
    }),
  ],
});
