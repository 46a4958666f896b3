/**
 * Counts the rows that a turn writes, including alarms: `npm run bench -- written-rows`. Four kinds of turn
 * run concurrently, each in its own workerd; the results do not depend on speed, as long as a turn takes
 * eight seconds.
 */
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import { plainRow, report, type Row } from "./results.ts";
import { type Contest, meterOf, present, type Side, startContest } from "./sides.ts";
import { spreadOf } from "./statistics.ts";

const SIDES = present(["ours", "kept", "ai-chat", "think"]);
const TURN: Load = { deltas: 400, gapMs: 20 };
/** Time for writes after the end of the answer. */
const SETTLE_MS = 2_000;

const kinds: readonly { readonly name: string; readonly goal: number; readonly load: Load }[] = [
  { name: "turn of 400 deltas", goal: 12, load: TURN },
  { name: "with 3 small tools in parallel", goal: 20, load: { ...TURN, calls: 3, tool: "check" } },
  {
    name: "with 3 small tools one after the other",
    goal: 20,
    load: { ...TURN, calls: 3, tool: "check", isSerial: true },
  },
];

interface Cost {
  readonly rows: number;
  readonly alarms: number;
}

async function costOf(contest: Contest, side: Side, load: Load): Promise<Cost> {
  const talk = contest.talk(side, "c1");
  const turn = async (word: string) => {
    requireExact(side, await talk.ask({ ...load, word }));
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    return meterOf(contest, side);
  };
  await turn("first");
  const { rowsWritten: rows, alarms } = await turn("second");
  talk.close();
  return { rows, alarms };
}

const costs = await Promise.all(
  kinds.map(async ({ load }) => {
    const contest = await startContest(SIDES, { METER: "on", TOOLS: "on" });
    try {
      const found = SIDES.map(async (side): Promise<[Side, Cost]> => [
        side,
        await costOf(contest, side, load),
      ]);
      return new Map(await Promise.all(found));
    } finally {
      contest.stop();
    }
  }),
);

function rowOf(
  name: string,
  of: (cost: Cost) => number,
  place: { kind: number; goal: number | null },
): Row {
  const all = [...(costs[place.kind] ?? [])].map(([side, cost]): [Side, number] => [
    side,
    of(cost),
  ]);
  const value = new Map(all).get("ours") ?? Number.NaN;
  const sides = Object.fromEntries(all.map(([side, rows]) => [side, spreadOf([rows])]));
  return plainRow({ name: `rows written: ${name}`, value, unit: "rows", sides }, place.goal);
}

report({
  rows: [
    ...kinds.map(({ name, goal }, kind) => rowOf(name, ({ rows }) => rows, { kind, goal })),
    rowOf("alarms in a turn", ({ alarms }) => alarms, { kind: 0, goal: null }),
  ],
});
