/**
 * Measures how a turn grows with its conversation: `npm run bench -- growth`. A history of 2 to 2,000
 * messages, 1 to 10,000 variables, values of 1 KB to 95 MB (the maximum of one variable), and 1 to 1,000
 * concurrent conversations. Each is a curve, with the exponent of a power law fitted to it. `--quick` omits
 * the largest.
 */
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import { type Curve, type Point, report } from "./results.ts";
import { type Contest, isQuick, present, type Side, startContest, urlOf } from "./sides.ts";
import type { Talk } from "./talk.ts";
import { exponentOf, spreadOf } from "./statistics.ts";

const SHORT: Load = { deltas: 1, gapMs: 0 };
const SAMPLES = isQuick ? 3 : 9;

const HISTORIES = isQuick ? [2, 20, 100] : [2, 20, 200, 2_000];
const VARIABLES = isQuick ? [1, 10, 100] : [1, 10, 100, 1_000, 10_000];
const VALUES = isQuick ? [1e3, 1e4, 1e5, 1e6] : [1e3, 1e4, 1e5, 1e6, 1e7, 9.5e7];
const AT_ONCE = isQuick ? [1, 10, 100] : [1, 10, 100, 1_000];
const PUT_AT_ONCE = 20;

function curveOf(
  head: Pick<Curve, "name" | "x" | "unit">,
  lines: Readonly<Record<string, readonly Point[]>>,
): Curve {
  const exponents = Object.entries(lines).map(([line, points]) => [
    line,
    exponentOf(points.map(({ x, median }) => ({ x, y: median }))),
  ]);
  return { ...head, lines, exponents: Object.fromEntries(exponents) };
}

async function samplesOf(count: number, run: () => Promise<number>): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let index = 0; index < count; index++) samples.push(await run());
  return samples;
}

/** All sides grow in step, so that each length is measured at about the same time on all sides. */
async function histories(): Promise<void> {
  const wanted = present(["ours", "kept", "ai-chat", "think"]);
  const contest = await startContest(wanted);
  const talks = wanted.map((side): [Side, Talk] => [side, contest.talk(side, "history")]);
  const lines = new Map(wanted.map((side): [Side, Point[]] => [side, []]));
  let messages = 0;
  try {
    for (const length of HISTORIES) {
      for (; messages < length; messages += 2)
        for (const [side, talk] of talks) requireExact(side, await talk.ask(SHORT));
      for (const [side, talk] of talks) {
        const values = await samplesOf(SAMPLES, async () => (await talk.ask(SHORT)).firstMs);
        lines.get(side)?.push({ x: length, ...spreadOf(values) });
      }
      messages += 2 * SAMPLES;
    }
  } finally {
    for (const [, talk] of talks) talk.close();
    contest.stop();
  }
  const head = { name: "first part by history", x: "messages", unit: "ms" };
  report({ curves: [curveOf(head, Object.fromEntries(lines))] });
}

async function variables(contest: Contest): Promise<void> {
  const url = `${urlOf(contest.server, "ours")}/conversations/variables/variables`;
  const talk = contest.talk("ours", "variables");
  const lines: Record<string, Point[]> = { "first part": [], "list of the last 20": [] };
  let stored = 0;
  for (const count of VARIABLES) {
    for (; stored < count; stored += PUT_AT_ONCE) {
      const some = Array.from({ length: Math.min(PUT_AT_ONCE, count - stored) }, (_, index) =>
        put(
          `${url}/v${stored + index}`,
          JSON.stringify({ number: stored + index }),
          "application/json",
        ),
      );
      await Promise.all(some);
    }
    stored = count;
    const firsts = await samplesOf(SAMPLES, async () => (await talk.ask(SHORT)).firstMs);
    const lists = await samplesOf(SAMPLES, () => timeOf(() => get(`${url}?limit=20`)));
    lines["first part"]?.push({ x: count, ...spreadOf(firsts) });
    lines["list of the last 20"]?.push({ x: count, ...spreadOf(lists) });
  }
  report({ curves: [curveOf({ name: "by variables", x: "variables", unit: "ms" }, lines)] });
}

async function values(contest: Contest): Promise<void> {
  const lines: Record<string, Point[]> = { "put it": [], "read 1 KB of it": [], "first part": [] };
  for (const size of VALUES) {
    const conversation = `value-${size}`;
    const url = `${urlOf(contest.server, "ours")}/conversations/${conversation}/variables/v`;
    const text = "0123456789abcde\n".repeat(size / 16 + 1).slice(0, size);
    // The largest values take a second each.
    const samples = size > 1e7 ? 3 : SAMPLES;
    const puts = await samplesOf(samples, () => timeOf(() => put(url, text, "text/plain")));
    const reads = await samplesOf(samples, () => timeOf(() => get(`${url}?offset=0&limit=1000`)));
    const talk = contest.talk("ours", conversation);
    const firsts = await samplesOf(samples, async () => (await talk.ask(SHORT)).firstMs);
    lines["put it"]?.push({ x: size, ...spreadOf(puts) });
    lines["read 1 KB of it"]?.push({ x: size, ...spreadOf(reads) });
    lines["first part"]?.push({ x: size, ...spreadOf(firsts) });
  }
  report({ curves: [curveOf({ name: "by the size of a value", x: "bytes", unit: "ms" }, lines)] });
}

async function conversations(): Promise<void> {
  const wanted = present(["ours", "rows", "ai-chat"]);
  const lines = new Map(wanted.map((side): [Side, Point[]] => [side, []]));
  for (const count of AT_ONCE) {
    const contest = await startContest(wanted);
    try {
      for (const side of wanted) {
        let round = 0;
        const wall = () => timeOf(() => askAll(contest, side, { count, round: round++ }));
        // Warms up: compiles the code and opens connections.
        await wall();
        const walls = await samplesOf(count >= 1_000 ? 1 : 3, wall);
        lines.get(side)?.push({ x: count, ...spreadOf(walls) });
      }
    } finally {
      contest.stop();
    }
  }
  const head = { name: "wall time by conversations at once", x: "conversations", unit: "ms" };
  report({ curves: [curveOf(head, Object.fromEntries(lines))] });
}

async function askAll(
  contest: Contest,
  side: Side,
  { count, round }: { readonly count: number; readonly round: number },
): Promise<void> {
  const all = Array.from({ length: count }, async (_, index) => {
    const talk = contest.talk(side, `r${round}-${index}`);
    requireExact(side, await talk.ask({ deltas: 22, gapMs: 20 }));
    talk.close();
  });
  await Promise.all(all);
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function put(url: string, body: string, mediaType: string): Promise<void> {
  await drain(await fetch(url, { method: "PUT", body, headers: { "content-type": mediaType } }));
}

async function get(url: string): Promise<void> {
  await drain(await fetch(url));
}

async function drain(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
}

await histories();
const contest = await startContest(["ours"]);
try {
  await variables(contest);
  await values(contest);
} finally {
  contest.stop();
}
await conversations();
