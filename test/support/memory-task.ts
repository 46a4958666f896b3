/**
 * Fills a conversation, compares it with an empty one, or uses it. Arguments: `fill`, `compare` or `use`; the
 * folder; `large` or `medium`. Prints `Measured` objects as a JSON array.
 */
import { join } from "node:path";
import {
  FILLED_MS,
  fillingSteps,
  LARGE,
  MEDIUM,
  type Opened,
  openConversation,
} from "./large-conversation.ts";
import { firstTurn, operationsOn } from "./large-operations.ts";
import { type Measured, measure } from "./memory-watch.ts";

const ROUNDS = 15;
/** Rounds that run cold code, and are not counted. */
const WARMUP_ROUNDS = 5;

const [task, folder = "", size] = process.argv.slice(2);
const clock = { nowMs: FILLED_MS };
const measured: Measured[] = [];

if (task === "fill") await fill();
else {
  clock.nowMs += 60_000;
  await (task === "compare" ? compare() : use());
}
console.log(JSON.stringify(measured));

async function fill(): Promise<void> {
  const opened = open(folder);
  for (const [name, work] of fillingSteps(opened, size === "large" ? LARGE : MEDIUM))
    await watch(name, work);
  opened.sql.close();
}

async function use(): Promise<void> {
  const opened = await watch("wake", () => open(folder));
  for (const [name, work] of operationsOn(opened, clock)) await watch(name, work);
  opened.sql.close();
}

/** Alternates between the two, so that a slow machine slows both. */
async function compare(): Promise<void> {
  for (let round = 0; round < WARMUP_ROUNDS + ROUNDS; round++) {
    if (round === WARMUP_ROUNDS) measured.length = 0;
    await once("empty", join(folder, `empty-${round}`));
    await once("large", folder);
  }
}

async function once(kind: string, path: string): Promise<void> {
  const opened = await watch(`${kind}: wake`, () => open(path));
  await watch(`${kind}: list the last 20`, () => opened.store.list({ last: 20 }));
  const firstMs = await watch(`${kind}: the whole turn`, () => firstTurn(opened, [1, 2, 3]));
  measured.push({ operation: `${kind}: first part`, ms: firstMs, peakBytes: 0, peakRssBytes: 0 });
  opened.sql.close();
}

/** Opens the conversation with its catalog already loaded. */
function open(path: string): Opened {
  const opened = openConversation(path, () => clock.nowMs);
  opened.store.count();
  return opened;
}

async function watch<Result>(name: string, work: () => Result | Promise<Result>) {
  const { result, measured: figures } = await measure(name, work);
  measured.push(figures);
  return result;
}
