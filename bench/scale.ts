/**
 * Compares a conversation of 10,000 variables, 1 GB and 2,000 messages with an empty one, over HTTP: `npm run
 * bench -- scale`. Measures the first part of a turn, and the first response of an evicted object. `--quick`
 * fills in a hundredth.
 */
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import { plainRow, report, type Row } from "./results.ts";
import { isQuick, startContest, urlOf } from "./sides.ts";
import { interleave, median, ratioOf, spreadOf } from "./statistics.ts";

const SHORT: Load = { deltas: 1, gapMs: 0 };
const VARIABLES = isQuick ? 100 : 10_000;
const MESSAGES = isQuick ? 20 : 2_000;
const LARGE_VALUES = isQuick ? 1 : 11;
const LARGE_BYTES = isQuick ? 1e7 : 9.5e7;
const FIRST_PARTS = isQuick ? 10 : 60;
const WAKES = isQuick ? 1 : 7;
/** workerd evicts an object after ten seconds without requests. */
const IDLE_MS = 13_000;
const PUT_AT_ONCE = 20;

const CONVERSATIONS = ["empty", "large"] as const;
type Conversation = (typeof CONVERSATIONS)[number];

const contest = await startContest(["ours"]);
const base = `${urlOf(contest.server, "ours")}/conversations`;

async function fill(): Promise<void> {
  const put = async (name: string, body: string) => {
    const headers = { "content-type": "text/plain" };
    const url = `${base}/large/variables/${name}`;
    const response = await fetch(url, { method: "PUT", body, headers });
    if (!response.ok) throw new Error(await response.text());
    await response.body?.cancel();
  };
  const text = "0123456789abcde\n".repeat(LARGE_BYTES / 16);
  for (let index = 0; index < LARGE_VALUES; index++) await put(`large_${index}`, text);
  for (let from = LARGE_VALUES; from < VARIABLES; from += PUT_AT_ONCE) {
    const count = Math.min(PUT_AT_ONCE, VARIABLES - from);
    const numbers = Array.from({ length: count }, (_, index) => from + index);
    await Promise.all(numbers.map((number) => put(`v${number}`, `a small value ${number}`)));
  }
  for (let sent = 0; sent < MESSAGES; sent += 2) await firstPart("large");
}

async function firstPart(conversation: Conversation): Promise<number> {
  return requireExact("ours", await contest.talk("ours", conversation).ask(SHORT)).firstMs;
}

/** Measures the time until the last twenty variables are listed. */
async function list(conversation: Conversation): Promise<number> {
  const startMs = performance.now();
  const response = await fetch(`${base}/${conversation}/variables?limit=20`);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return performance.now() - startMs;
}

type Samples = Readonly<Record<Conversation, readonly number[]>>;

function reportRow(name: string, samples: Samples, figure: Pick<Row, "value" | "unit" | "goal">) {
  const sides = { "ours, empty": spreadOf(samples.empty), "ours, large": spreadOf(samples.large) };
  const { value, unit, goal } = figure;
  const row = { name: `scale in one conversation: ${name}`, value, unit, sides, sidesUnit: "ms" };
  report({ rows: [plainRow({ ...row, against: "an empty conversation" }, goal)] });
}

try {
  await firstPart("empty");
  await fill();
  const firstParts = await interleave(CONVERSATIONS, FIRST_PARTS, firstPart);
  const value = ratioOf(firstParts.large, firstParts.empty).median;
  reportRow("first part", firstParts, { value, unit: "times", goal: 1.2 });
  const wakes: Record<Conversation, number[]> = { empty: [], large: [] };
  for (let round = 0; round < WAKES; round++) {
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const order = round % 2 === 0 ? CONVERSATIONS : CONVERSATIONS.toReversed();
    for (const conversation of order) wakes[conversation].push(await list(conversation));
  }
  const moreMs = median(wakes.large) - median(wakes.empty);
  reportRow("wake, more than an empty one", wakes, { value: moreMs, unit: "ms", goal: 30 });
} finally {
  contest.stop();
}
