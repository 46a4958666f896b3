/**
 * Measures a thousand new concurrent conversations, each with a turn of 22 chunks: `npm run bench -- many`.
 * Compares with an object that only writes the question and the answer to its SQLite and streams the same
 * frames, and with a peer. Each round starts workerd again for each side, in turn; only ratios within one run
 * are meaningful. The figures and the goals are in `bench/README.md`. `--quick` takes one round.
 */
import { messagesOf, textOf } from "../test/support/turn-client.ts";
import { answerTo, type Load, questionFor } from "./load.ts";
import { plainRow, ratioRows, report } from "./results.ts";
import { type Contest, isQuick, present, type Side, startContest, urlOf } from "./sides.ts";
import { median } from "./statistics.ts";

const SIDES = present(["ours", "rows", "ai-chat"]);
const ROUNDS = isQuick ? 1 : 3;
const AT_ONCE = 1_000;
/** Conversations before the measurement, so that the code is compiled. */
const WARM_UP = 200;
const READ_AT_ONCE = 20;
const unit = `of ${AT_ONCE.toLocaleString("en-US")}`;

interface Sample {
  readonly wallMs: number;
  readonly firstByteMs: number;
  /** Peak memory growth of workerd for each conversation. */
  readonly eachKiB: number;
  /** CPU time of workerd for each conversation. */
  readonly cpuMs: number;
  readonly bytes: number;
}

interface Question {
  readonly name: string;
  readonly load: Load;
}

async function measure(side: Side): Promise<Sample> {
  const contest = await startContest([side]);
  const askAll = async (all: readonly Question[]) => {
    const talks = all.map(({ name, load }) => ({ talk: contest.talk(side, name), load }));
    const answers = await Promise.all(talks.map(({ talk, load }) => talk.ask(load)));
    return { answers, close: () => talks.forEach(({ talk }) => talk.close()) };
  };
  try {
    (await askAll(questions("warm", WARM_UP))).close();
    const all = questions("c", AT_ONCE);
    const before = contest.server.usage();
    const startMs = performance.now();
    const { answers, close } = await askAll(all);
    const wallMs = performance.now() - startMs;
    const after = contest.server.usage();
    close();
    const exact = answers.filter(({ isExact }) => isExact).length;
    const kept = await countKept(all, (name) => textsOf(contest, side, name));
    report({
      rows: [
        plainRow(
          { name: `answers of ${side} that are not exact`, value: AT_ONCE - exact, unit },
          side === "ours" ? 0 : null,
        ),
        plainRow(
          { name: `histories of ${side} that are not whole`, value: AT_ONCE - kept, unit },
          side === "ours" ? 0 : null,
        ),
      ].map((row) => ({ ...row, name: `many conversations: ${row.name}` })),
    });
    return {
      wallMs,
      firstByteMs: median(answers.map(({ firstByteMs }) => firstByteMs)),
      eachKiB: (after.peakBytes - before.bytes) / AT_ONCE / 1_024,
      cpuMs: (after.cpuMs - before.cpuMs) / AT_ONCE,
      bytes: median(answers.map(({ bytes }) => bytes)),
    };
  } finally {
    contest.stop();
  }
}

function questions(prefix: string, count: number): readonly Question[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `${prefix}${index}`;
    return { name, load: { deltas: 22, gapMs: 20, word: name } };
  });
}

async function countKept(
  all: readonly Question[],
  read: (name: string) => Promise<readonly string[]>,
): Promise<number> {
  let kept = 0;
  for (let from = 0; from < all.length; from += READ_AT_ONCE) {
    const some = all.slice(from, from + READ_AT_ONCE);
    const texts = await Promise.all(some.map(({ name }) => read(name)));
    kept += some.filter(({ load }, index) => {
      const [question, answer, ...more] = texts[index] ?? [];
      return question === questionFor(load) && answer === answerTo(load) && more.length === 0;
    }).length;
  }
  return kept;
}

type Messages = Awaited<ReturnType<typeof messagesOf>>;

async function textsOf(contest: Contest, side: Side, name: string): Promise<readonly string[]> {
  const url = urlOf(contest.server, side);
  if (side === "ours") return (await messagesOf(`${url}/conversations/${name}`)).map(textOf);
  if (side === "rows") {
    const response = await fetch(`${url}/rows/${name}`);
    // Written by `Rows`.
    return ((await response.json()) as { readonly texts: readonly string[] }).texts;
  }
  const response = await fetch(`${url}/agents/chat/${name}/get-messages`);
  return ((await response.json()) as Messages).map(textOf);
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly of: (sample: Sample) => number;
  readonly against: Readonly<Record<string, number | null>>;
}

const figures: readonly Figure[] = [
  { name: "wall", unit: "ms", of: ({ wallMs }) => wallMs, against: { rows: 1.5, "ai-chat": 0.25 } },
  {
    name: "first byte, median",
    unit: "ms",
    of: ({ firstByteMs }) => firstByteMs,
    against: { rows: 1.4, "ai-chat": null },
  },
  {
    name: "memory each, at most",
    unit: "KiB",
    of: ({ eachKiB }) => eachKiB,
    against: { rows: 1.5, "ai-chat": null },
  },
  {
    name: "time on a core each",
    unit: "ms",
    of: ({ cpuMs }) => cpuMs,
    against: { rows: 1.6, "ai-chat": null },
  },
  {
    name: "bytes of an answer",
    unit: "bytes",
    of: ({ bytes }) => bytes,
    against: { rows: null, "ai-chat": null },
  },
];

const samples = new Map(SIDES.map((side): [Side, Sample[]] => [side, []]));
for (let round = 0; round < ROUNDS; round++) {
  // The order alternates between rounds.
  for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
    samples.get(side)?.push(await measure(side));
  }
}
for (const { name, unit, of, against } of figures) {
  const values = Array.from(samples, ([side, all]): [Side, number[]] => [side, all.map(of)]);
  const comparison = { name: `many conversations, ${name}`, unit, against };
  report({ rows: ratioRows({ ...comparison, samples: Object.fromEntries(values) }) });
}
