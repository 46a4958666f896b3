/**
 * Runs for thirty minutes at 70 % of the turns that the machine can serve, and monitors memory, open files, storage
 * and answers: `npm run bench -- soak`. Conversations of 20 turns follow each other; every history is read at the
 * end. `--quick` runs for a minute and a half.
 */
import { messagesOf, textOf } from "../test/support/turn-client.ts";
import { askInLoop, LOAD } from "./ask-loop.ts";
import { answerTo } from "./load.ts";
import type { Usage } from "./plain-workerd.ts";
import { plainRow, report } from "./results.ts";
import { isQuick, startContest, urlOf } from "./sides.ts";
import { median, quantile } from "./statistics.ts";
import type { Talk } from "./talk.ts";

const MINUTE_MS = 60_000;
const FOR_MS = isQuick ? 1.5 * MINUTE_MS : 30 * MINUTE_MS;
const LOOK_MS = isQuick ? 2_000 : 10_000;
const SHARE = 0.7;
const CONVERSATIONS = 200;
const TURNS_OF_A_CONVERSATION = 20;
const MEASURE_MS = isQuick ? 5_000 : 20_000;
const READ_AT_ONCE = 20;

interface Look extends Usage {
  readonly ms: number;
}

/** Runs conversations one after the other. */
class Place {
  readonly #begin: (name: string) => Talk;
  readonly #prefix: string;
  #name = "";
  #talk: Talk | undefined;
  #turns = 0;
  #count = 0;

  constructor(prefix: string, begin: (name: string) => Talk) {
    this.#prefix = prefix;
    this.#begin = begin;
  }

  async ask(done: Map<string, number>): Promise<number | undefined> {
    if (this.#talk === undefined || this.#turns === TURNS_OF_A_CONVERSATION) {
      this.#talk?.close();
      this.#name = `${this.#prefix}-${++this.#count}`;
      this.#talk = this.#begin(this.#name);
      this.#turns = 0;
    }
    this.#turns++;
    const answer = await this.#talk.ask(LOAD).catch(() => undefined);
    if (answer?.isExact !== true) return undefined;
    done.set(this.#name, (done.get(this.#name) ?? 0) + 1);
    return answer.wholeMs;
  }
}

const contest = await startContest(["ours"]);
try {
  const begin = (name: string) => contest.talk("ours", name);
  const loop = { conversations: CONVERSATIONS, forMs: MEASURE_MS };
  const most = await askInLoop((index) => begin(`most${index}`), loop);
  const perSecond = (SHARE * most.turnMs.length) / (most.wallMs / 1_000);
  const soaked = await soak(begin, perSecond);
  const lost = await countLost(soaked.done);
  reportAll({ ...soaked, lost, perSecond });
} finally {
  contest.stop();
}

async function soak(begin: (name: string) => Talk, perSecond: number) {
  const idle = Array.from({ length: CONVERSATIONS }, (_, index) => new Place(`s${index}`, begin));
  const done = new Map<string, number>();
  const turnMs: number[] = [];
  const looks: Look[] = [];
  const stored: { readonly bytes: number; readonly turns: number }[] = [];
  let asked = 0;
  let failed = 0;
  const running = new Set<Promise<void>>();
  const ask = async (place: Place) => {
    const ms = await place.ask(done);
    if (ms === undefined) failed++;
    else turnMs.push(ms);
    idle.push(place);
  };
  const look = (ms: number) => {
    if (ms < looks.length * LOOK_MS) return;
    looks.push({ ...contest.server.usage(), ms });
    if (ms >= (stored.length * FOR_MS) / 2)
      stored.push({ bytes: contest.server.storedBytes(), turns: turnMs.length });
  };
  const startMs = performance.now();
  for (let ms = 0; ms < FOR_MS; ms = performance.now() - startMs) {
    look(ms);
    while (asked < (ms / 1_000) * perSecond) {
      const place = idle.shift();
      if (place === undefined) break;
      asked++;
      const turn = ask(place).finally(() => running.delete(turn));
      running.add(turn);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.all(running);
  stored.push({ bytes: contest.server.storedBytes(), turns: turnMs.length });
  return { done, failed, turnMs: turnMs.toSorted((a, b) => a - b), looks, stored };
}

/** Counts answers that a client has received but that are missing from the history. */
async function countLost(done: ReadonlyMap<string, number>): Promise<number> {
  const expected = answerTo(LOAD);
  const all = Array.from(done);
  let lost = 0;
  for (let from = 0; from < all.length; from += READ_AT_ONCE) {
    const reading = all.slice(from, from + READ_AT_ONCE).map(async ([name, turns]) => {
      const url = `${urlOf(contest.server, "ours")}/conversations/${name}`;
      const texts = (await messagesOf(url)).map(textOf);
      return turns - texts.filter((text) => text === expected).length;
    });
    for (const missing of await Promise.all(reading)) lost += Math.max(0, missing);
  }
  return lost;
}

type Soaked = Awaited<ReturnType<typeof soak>> & {
  readonly lost: number;
  readonly perSecond: number;
};

function reportAll({ done, failed, turnMs, looks, stored, lost, perSecond }: Soaked): void {
  // Compares the second sixth, when the first conversations have been evicted, with the last.
  const during = (sixth: number) =>
    looks.filter(({ ms }) => Math.floor((6 * ms) / FOR_MS) === sixth);
  const growthOf = (figure: (look: Look) => number) =>
    median(during(5).map(figure)) / median(during(1).map(figure));
  const bytesOfATurn = stored.slice(1).map(({ bytes, turns }, half) => {
    const before = stored[half] ?? { bytes: 0, turns: 0 };
    return (bytes - before.bytes) / (turns - before.turns);
  });
  const turns = turnMs.length + failed;
  const of = `of ${turns.toLocaleString("en-US")} turns`;
  const minutes = FOR_MS / MINUTE_MS;
  const rows = [
    plainRow({ name: "turns", value: perSecond, unit: "a second, as planned" }),
    plainRow({ name: "turns that were asked", value: turns, unit: "turns" }),
    plainRow({ name: "conversations", value: done.size, unit: "conversations" }),
    plainRow({ name: "p50", value: quantile(turnMs, 0.5), unit: "ms" }),
    plainRow({ name: "p99", value: quantile(turnMs, 0.99), unit: "ms" }),
    plainRow({ name: "answers that failed", value: failed, unit: of }, 0),
    plainRow({ name: "answers lost from a history", value: lost, unit: of }, 0),
    plainRow(
      {
        name: "memory, last sixth against second",
        value: growthOf(({ bytes }) => bytes),
        unit: "times",
      },
      1.05,
    ),
    plainRow(
      {
        name: "open files, last sixth against second",
        value: growthOf(({ openFiles }) => openFiles),
        unit: "times",
      },
      1.05,
    ),
    plainRow(
      {
        name: "storage of a turn, second half against first",
        value: (bytesOfATurn[1] ?? Number.NaN) / (bytesOfATurn[0] ?? Number.NaN),
        unit: "times",
      },
      1.05,
    ),
  ];
  const named = rows.map((row) => ({ ...row, name: `soak of ${minutes} minutes: ${row.name}` }));
  report({ rows: named });
}
