/**
 * Measures 100 conversations that each call three tools in parallel and then answer: `npm run bench --
 * three-tools`. Each tool returns 200 KB. Compares with the same loop with results by value, and with a peer.
 * `--quick` takes one round of ten conversations.
 */
import { requireExact } from "./ask.ts";
import type { Load } from "./load.ts";
import { ratioRows, report } from "./results.ts";
import { isQuick, present, type Side, startContest } from "./sides.ts";
import { interleave } from "./statistics.ts";

const SIDES = present(["ours", "kept", "ai-chat"]);
const CONVERSATIONS = isQuick ? 10 : 100;
const ROUNDS = isQuick ? 1 : 5;
const LOAD: Load = { deltas: 22, gapMs: 20, calls: 3, tool: "fetch_report" };

const contest = await startContest(SIDES, { TOOLS: "on" });

async function wallMs(side: Side, round: number): Promise<number> {
  const talks = Array.from({ length: CONVERSATIONS }, (_, index) =>
    contest.talk(side, `r${round}-${index}`),
  );
  const startMs = performance.now();
  for (const answer of await Promise.all(talks.map((talk) => talk.ask(LOAD))))
    requireExact(side, answer);
  const ms = performance.now() - startMs;
  for (const talk of talks) talk.close();
  return ms;
}

try {
  const samples = await interleave(SIDES, ROUNDS, wallMs);
  const name = `${CONVERSATIONS} conversations with three results of 200 KB each, wall`;
  const against = { kept: 0.5, "ai-chat": null };
  report({ rows: ratioRows({ name, samples, unit: "ms", against }) });
} finally {
  contest.stop();
}
