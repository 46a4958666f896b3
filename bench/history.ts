/**
 * Compares a conversation of 2,000 turns with an empty one, over HTTP: `npm run bench -- history`. Measures the
 * first part of a turn in an object that is awake, and in an evicted one; and the last prompt of 500 turns.
 * `--quick` fills in a tenth.
 */
import { requireExact } from "./ask.ts";
import { type Load, questionFor } from "./load.ts";
import { plainRow, report } from "./results.ts";
import { isQuick, startContest, urlOf } from "./sides.ts";
import { interleave, ratioOf, spreadOf } from "./statistics.ts";

const SHORT: Load = { deltas: 20, gapMs: 0 };
const TURNS = isQuick ? 200 : 2_000;
const FIRST_PARTS = isQuick ? 10 : 60;
const WAKES = isQuick ? 2 : 15;
const PROMPT_TURNS = isQuick ? 50 : 500;
/** Characters of earlier messages, as in `limits.historyChars`. */
const BUDGET = 24_000;
/** workerd evicts an object after ten seconds without requests. */
const IDLE_MS = 13_000;

const CONVERSATIONS = ["empty", "long"] as const;
type Conversation = (typeof CONVERSATIONS)[number];
type Samples = Readonly<Record<Conversation, readonly number[]>>;

const contest = await startContest(["ours"]);

async function firstPart(conversation: Conversation): Promise<number> {
  return requireExact("ours", await contest.talk("ours", conversation).ask(SHORT)).firstMs;
}

async function promptChars(): Promise<number> {
  const response = await fetch(`${urlOf(contest.server, "ours")}/conversations/long/messages`, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/json" },
    body: JSON.stringify({ message: questionFor(SHORT) }),
  });
  const { savings } = (await response.json()) as { savings: { promptChars: number } };
  return savings.promptChars;
}

function reportRatio(name: string, samples: Samples, goal: number): void {
  const { median: value, low, high } = ratioOf(samples.long, samples.empty);
  const sides = { "ours, empty": spreadOf(samples.empty), "ours, long": spreadOf(samples.long) };
  const row = { name: `${TURNS} turns: ${name}`, value, low, high, unit: "times" };
  const against = "an empty conversation";
  report({ rows: [plainRow({ ...row, against, sides, sidesUnit: "ms" }, goal)] });
}

try {
  await firstPart("empty");
  for (let turn = 1; turn <= TURNS; turn++) {
    await firstPart("long");
    if (turn !== PROMPT_TURNS) continue;
    const row = {
      name: `${turn} turns: last prompt`,
      value: await promptChars(),
      unit: "characters",
    };
    report({ rows: [plainRow(row, BUDGET)] });
  }
  reportRatio("first part", await interleave(CONVERSATIONS, FIRST_PARTS, firstPart), 1.2);
  const wakes: Record<Conversation, number[]> = { empty: [], long: [] };
  for (let round = 0; round < WAKES; round++) {
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const order = round % 2 === 0 ? CONVERSATIONS : CONVERSATIONS.toReversed();
    for (const conversation of order) wakes[conversation].push(await firstPart(conversation));
  }
  reportRatio("wake and first part", wakes, 1.3);
} finally {
  contest.stop();
}
