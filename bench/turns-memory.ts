/**
 * Measures whether workerd's memory grows: `npm run bench -- turns-memory`. 10,000 turns as 200 in each of 50
 * conversations, then 10,000 as one in each of 10,000, each kind in its own process. Every second
 * conversation calls two tools in each turn, whose results of a kilobyte are stored. Prints the memory of the
 * process after each thousand turns. `--quick` takes a tenth of the turns, `--same` or `--new` one kind.
 */
import { loadavg } from "node:os";
import * as limits from "../src/limits.ts";
import { messagesOf, textOf } from "../test/support/turn-client.ts";
import { ask } from "./ask.ts";
import { answerTo, type Load, questionFor } from "./load.ts";
import { isQuick, startContest, urlOf } from "./sides.ts";
import { median } from "./statistics.ts";

interface Kind {
  readonly name: string;
  /** Maps a turn's number in the run to its conversation and its number in it. */
  readonly placeOf: (number: number) => readonly [conversation: number, turn: number];
}

const SAME = 50;
const kinds: readonly Kind[] = [
  {
    name: "same",
    placeOf: (number) => [number % SAME, Math.floor(number / SAME)],
  },
  { name: "new", placeOf: (number) => [number, 0] },
];

const TURNS = isQuick ? 1_000 : 10_000;
/**
 * V8 and SQLite reserve memory in the first turns and do not release it, and an object without requests lives
 * for another ten seconds.
 */
const WARM_UP = isQuick ? 500 : 6_000;
/** Number of concurrent turns. */
const AT_ONCE = 10;
const PER_LINE = 1_000;
const GOAL_MB = 1;

class Run {
  readonly #kind: Kind;
  readonly #url: string;
  readonly #bytes: () => number;
  #asked = 0;
  #failed = 0;

  constructor(kind: Kind, url: string, bytes: () => number) {
    this.#kind = kind;
    this.#url = url;
    this.#bytes = bytes;
  }

  async measure(): Promise<void> {
    console.log(`\n${this.#kind.name}, load ${loadavg()[0]?.toFixed(1)}`);
    await this.#turns(WARM_UP, `${WARM_UP} turns to warm up`);
    const readings: Reading[] = [];
    for (let turns = 0; turns < TURNS; turns += PER_LINE) {
      const label = `${turns + PER_LINE} turns`;
      readings.push(...(await this.#turns(PER_LINE, label)));
    }
    const growth = growthPerThousand(readings);
    const late = growthPerThousand(readings.slice(readings.length / 2));
    const verdict = growth > GOAL_MB ? ", MISSED" : "";
    console.log(`growth per 1,000: ${growth.toFixed(2)} MB (goal ${GOAL_MB}${verdict})`);
    console.log(`growth per 1,000 in the second half: ${late.toFixed(2)} MB`);
    console.log(`turns that failed: ${this.#failed} of ${this.#asked}`);
    const { broken, all } = await this.#checkHistories();
    console.log(`histories that are not whole: ${broken} of ${all}`);
  }

  /** Runs this many turns. Returns the memory of the process after each wave. */
  async #turns(count: number, label: string): Promise<readonly Reading[]> {
    const readings: Reading[] = [];
    for (const end = this.#asked + count; this.#asked < end;) {
      const wave = Array.from({ length: AT_ONCE }, () => this.#turn(this.#asked++));
      const exact = (await Promise.all(wave)).filter(Boolean);
      this.#failed += AT_ONCE - exact.length;
      readings.push({ turns: this.#asked, megabytes: this.#bytes() / 1e6 });
    }
    const sizes = readings.map(({ megabytes }) => megabytes);
    const [low, high] = [Math.min(...sizes), Math.max(...sizes)].map((size) => size.toFixed(0));
    console.log(`${label}: ${median(sizes).toFixed(0)} MB (${low} to ${high})`);
    return readings;
  }

  /** False if the answer is missing or not exact. */
  async #turn(number: number): Promise<boolean> {
    const [conversation, turn] = this.#kind.placeOf(number);
    const load = loadOf(conversation, turn);
    const agent = load.calls === 0 ? "bench" : "looker";
    const path = `${this.#url}/conversations/c${conversation}/messages`;
    const answer = await ask(path, load, { agent }).catch(() => undefined);
    return answer?.isExact === true;
  }

  /** Checks that all questions and answers are stored, unchanged and in order, on the newest page. */
  async #checkHistories(): Promise<{ readonly broken: number; readonly all: number }> {
    const expected = new Map<number, string[]>();
    for (let number = 0; number < this.#asked; number++) {
      const [conversation, turn] = this.#kind.placeOf(number);
      const load = loadOf(conversation, turn);
      const texts = expected.get(conversation) ?? [];
      texts.push(questionFor(load), answerTo(load));
      expected.set(conversation, texts);
    }
    let broken = 0;
    for (const [conversation, texts] of expected) {
      const messages = await messagesOf(`${this.#url}/conversations/c${conversation}`);
      const newest = texts.slice(-limits.maxPageSize);
      const isWhole =
        messages.length === newest.length &&
        messages.every((message, index) => textOf(message) === newest[index]);
      if (!isWhole) broken++;
    }
    return { broken, all: expected.size };
  }
}

/** Every answer differs. */
function loadOf(conversation: number, turn: number): Load {
  const calls = conversation % 2 === 0 ? 0 : 2;
  return { deltas: 22, gapMs: 0, word: `c${conversation}-t${turn}`, calls };
}

interface Reading {
  readonly turns: number;
  readonly megabytes: number;
}

/** Least squares: a single reading depends on when V8 last collected. */
function growthPerThousand(readings: readonly Reading[]): number {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(readings.map(({ turns }) => turns));
  const level = mean(readings.map(({ megabytes }) => megabytes));
  const along = readings.map(({ turns }) => (turns - middle) ** 2);
  const up = readings.map(({ turns, megabytes }) => (turns - middle) * (megabytes - level));
  return (mean(up) / mean(along)) * 1_000;
}

const chosen = kinds.filter(({ name }) => process.argv.includes(`--${name}`));
for (const kind of chosen.length === 0 ? kinds : chosen) {
  const { server, stop } = await startContest(["ours"]);
  try {
    await new Run(kind, urlOf(server, "ours"), () => server.usage().bytes).measure();
  } finally {
    stop();
  }
}
