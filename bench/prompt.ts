/**
 * Measures what the model receives: `npm run bench -- prompt`. One tool result of 200 KB, then six questions; and two
 * turns with small results. The results do not depend on speed.
 */
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import type { Prompt } from "./meter.ts";
import { plainRow, report, type Row } from "./results.ts";
import { type Contest, meterOf, present, type Side, startContest } from "./sides.ts";
import { spreadOf } from "./statistics.ts";

const SIDES = present(["ours", "kept", "ai-chat", "ai-chat, pruned", "think", "think, short"]);
const LARGE: Load = { deltas: 20, gapMs: 0, tool: "fetch_report" };
const SMALL: Load = { deltas: 2, gapMs: 0, tool: "check", calls: 1 };

type Prompts = ReadonlyMap<Side, readonly Prompt[]>;

/** Asks all sides the same questions. Returns the prompts of their models. */
async function promptsOf(
  contest: Contest,
  sides: readonly Side[],
  loads: readonly Load[],
): Promise<Prompts> {
  const sent = new Map<Side, readonly Prompt[]>();
  for (const side of sides) {
    const talk = contest.talk(side, `c${loads.length}`);
    for (const load of loads) requireExact(side, await talk.ask(load));
    talk.close();
    sent.set(side, (await meterOf(contest, side)).prompts);
  }
  return sent;
}

/** The characters of all prompts, with a goal against a side if there is one. */
function rowsOf(
  name: string,
  sent: Prompts,
  { of, against, goal }: { of: readonly (keyof Prompt)[]; against: Side; goal: number | null },
): readonly Row[] {
  const charsOf = (prompts: readonly Prompt[]) =>
    prompts.reduce((sum, prompt) => of.reduce((all, part) => all + prompt[part].length, sum), 0);
  const chars = Array.from(sent, ([side, prompts]): [Side, number] => [side, charsOf(prompts)]);
  const sides = Object.fromEntries(chars.map(([side, value]) => [side, spreadOf([value])]));
  const { ours = 0, [against]: others } = Object.fromEntries(chars);
  const what = of.join(" and ");
  const row = { name: `${name}: characters of ${what}`, value: ours, unit: "characters", sides };
  if (others === undefined) return [plainRow(row)];
  const ratio = { name: `${name}, ${what}: against ${against}`, value: ours / others, against };
  return [plainRow(row), plainRow({ ...ratio, unit: "times" }, goal)];
}

const contest = await startContest(SIDES, { METER: "on", TOOLS: "on" });
try {
  const first = { ...LARGE, calls: 1, word: "fetch" };
  const others = Array.from({ length: 6 }, (_, index) => ({ ...LARGE, word: `follow-${index}` }));
  const large = await promptsOf(contest, SIDES, [first, ...others]);
  const small = await promptsOf(
    contest,
    ["ours", "kept"],
    ["one", "two"].map((word) => ({ ...SMALL, word })),
  );
  const [scenario, short] = ["prompt after a large result", "two short turns with small results"];
  const whole = ["messages", "tools"] as const;
  report({
    rows: [
      ...rowsOf(scenario, large, { of: ["messages"], against: "ai-chat", goal: 0.008 }),
      ...rowsOf(scenario, large, { of: whole, against: "ai-chat", goal: 0.013 }),
      ...rowsOf(short, small, { of: whole, against: "kept", goal: 1.25 }),
    ],
  });
} finally {
  contest.stop();
}
