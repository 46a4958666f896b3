/**
 * Computes the cost of a million turns from the figures of this run and published prices. It measures nothing
 * itself, and reads the results of the other benches.
 */
import { plainRow, readResults, report, type Row, shown } from "./results.ts";
import { spreadOf } from "./statistics.ts";

/**
 * Dollars beyond the included usage, as of 2026: developers.cloudflare.com/durable-objects/platform/pricing
 * and /workers/platform/pricing, and copies of OpenAI's price list for GPT-5.2.
 */
const PRICES = {
  rowWritten: 1 / 1e6,
  objectRequest: 0.15 / 1e6,
  workerRequest: 0.3 / 1e6,
  gigabyteSecond: 12.5 / 1e6,
  inputToken: 1.75 / 1e6,
  /** Price of the start of a prompt that is in the provider's cache. */
  cachedToken: 0.175 / 1e6,
} as const;

const TURN_SECONDS = 8;
const OBJECT_GIGABYTES = 0.128;
/** Frames of a WebSocket that are billed as one request. */
const FRAMES_PER_REQUEST = 20;
/** The turn with the large tool result, and six more. */
const TURNS_OF_PROMPTS = 7;
const MILLION = 1e6;

/** The side with the same row counts, and whether its client uses a socket. */
const sides: Readonly<Record<string, { readonly rowsOf: string; readonly hasSocket: boolean }>> = {
  ours: { rowsOf: "ours", hasSocket: false },
  kept: { rowsOf: "kept", hasSocket: false },
  "ai-chat": { rowsOf: "ai-chat", hasSocket: true },
  "ai-chat, pruned": { rowsOf: "ai-chat", hasSocket: true },
  think: { rowsOf: "think", hasSocket: true },
  "think, short": { rowsOf: "think", hasSocket: true },
};

const FORMULA = `**Dollars for a million turns**, of what the platform and a model's input cost beyond free allowances:

    platform = 10⁶ × (rows × $${shown(PRICES.rowWritten * MILLION)} + object requests × $${shown(PRICES.objectRequest * MILLION)} + Worker requests × $${shown(PRICES.workerRequest * MILLION)}
             + ${TURN_SECONDS} s × ${OBJECT_GIGABYTES} GB × $${shown(PRICES.gigabyteSecond * MILLION)}) / 10⁶
    input    = 10⁶ × tokens of the ${TURNS_OF_PROMPTS} turns / ${TURNS_OF_PROMPTS} × $${shown(PRICES.inputToken * MILLION)} / 10⁶
    cached   = the same with what an earlier prompt began with at $${shown(PRICES.cachedToken * MILLION)}

Rows are those of a turn of 400 deltas, alarms counted in. Object requests are the question (over a socket a twentieth) and each alarm; Worker requests are the question over HTTP, none over a socket that is open. A turn takes ${TURN_SECONDS} s and its object 128 MB, whoever runs it. The model's price is that of GPT-5.2; what it writes costs all the same here, but where a reference stands for data.`;

const path = process.env.BENCH_RESULTS;
if (path === undefined) {
  console.log("It needs the figures of a whole run: npm run bench:peers.");
} else {
  const { rows } = readResults(path);
  const found = dollarRows(rows);
  report({ rows: found, ...(found.length === 0 ? {} : { texts: { dollars: FORMULA } }) });
}

function dollarRows(rows: readonly Row[]): readonly Row[] {
  const figure = (name: string, side: string) =>
    rows.find((row) => row.name === name)?.sides?.[side]?.median ?? Number.NaN;
  const tokens = (what: string, side: string) =>
    figure(`prompt after a large result: tokens ${what}`, side) / TURNS_OF_PROMPTS;
  const costs = Object.entries(sides).map(([side, { rowsOf, hasSocket }]) => {
    const written = figure("rows written: turn of 400 deltas", rowsOf);
    const alarms = figure("rows written: alarms in a turn", rowsOf);
    const questions = hasSocket ? 1 / FRAMES_PER_REQUEST : 1;
    const all = tokens("of all calls", side);
    const fresh = tokens("that no call before had", side);
    return {
      side,
      platform:
        written * PRICES.rowWritten +
        (questions + alarms) * PRICES.objectRequest +
        (hasSocket ? 0 : PRICES.workerRequest) +
        TURN_SECONDS * OBJECT_GIGABYTES * PRICES.gigabyteSecond,
      input: all * PRICES.inputToken,
      cached: fresh * PRICES.inputToken + (all - fresh) * PRICES.cachedToken,
    };
  });
  return (["platform", "input", "cached"] as const).flatMap((key) => {
    const known = costs.filter((cost) => Number.isFinite(cost[key]));
    const ours = known.find(({ side }) => side === "ours");
    if (ours === undefined) return [];
    const all = known.map((cost) => [cost.side, spreadOf([cost[key] * MILLION])]);
    const row = { name: `a million turns: ${key}`, value: ours[key] * MILLION, unit: "dollars" };
    return [plainRow({ ...row, sides: Object.fromEntries(all) })];
  });
}
