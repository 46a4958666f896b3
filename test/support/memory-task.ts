/**
 * Fills a conversation, or uses it. Arguments: `fill` or `use`; the folder; `large` or `medium`. Prints `Measured` objects as a JSON array.
 */
import {
  FILLED_MS,
  fillingSteps,
  LARGE,
  MEDIUM,
  type Opened,
  openConversation,
} from "./large-conversation.ts";
import { operationsOn } from "./large-operations.ts";
import { type Measured, measure } from "./memory-watch.ts";

const [task, folder = "", size] = process.argv.slice(2);
const clock = { nowMs: FILLED_MS };
const measured: Measured[] = [];

if (task === "fill") await fill();
else {
  clock.nowMs += 60_000;
  await use();
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
