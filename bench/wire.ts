/**
 * Counts the bytes on the wire of an answer of 400 deltas with a reference in every tenth, compared with the same
 * text without references, as server-sent events and over a socket: `npm run bench -- wire`.
 */
import { type Answer, requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import { plainRow, report } from "./results.ts";
import { type Side, startContest, urlOf } from "./sides.ts";
import { spreadOf } from "./statistics.ts";

const WORDS: Load = { deltas: 400, gapMs: 0 };
/** The other answer contains the value of `$said` in its place. */
const REFERENCES: Load = { ...WORDS, say: "$said", each: 10 };
const GOAL = 1.05;

const contest = await startContest(["ours", "ours, by socket"]);

async function bytesOf(side: Side, name: string, load: Load): Promise<Answer> {
  const url = `${urlOf(contest.server, side)}/conversations/${name}/variables/said`;
  const headers = { "content-type": "text/plain" };
  const saved = await fetch(url, { method: "PUT", body: "word", headers });
  if (!saved.ok) throw new Error(await saved.text());
  const talk = contest.talk(side, name);
  try {
    return requireExact(side, await talk.ask(load));
  } finally {
    talk.close();
  }
}

try {
  const ways: readonly [string, Side][] = [
    ["server-sent events", "ours"],
    ["socket", "ours, by socket"],
  ];
  for (const [way, side] of ways) {
    const words = await bytesOf(side, "words", WORDS);
    const references = await bytesOf(side, "references", REFERENCES);
    if (words.text !== references.text) throw new Error(`By ${way} the two answers differ.`);
    const row = {
      name: `answer of 400 deltas, 40 of them references, bytes on the wire: ${way}`,
      value: references.bytes / words.bytes,
      unit: "times",
      against: "the same text without references",
      sides: { ours: spreadOf([references.bytes]) },
      sidesUnit: "bytes",
    };
    report({ rows: [plainRow(row, GOAL)] });
  }
} finally {
  contest.stop();
}
