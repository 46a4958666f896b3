/**
 * Measures the first steps of a new user, from an empty folder to the first answer of their own agent: `npm run
 * bench -- new-project`. Needs npm's registry or its cache.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { askFirst, NewMachine } from "../test/support/new-machine.ts";
import { plainRow, report, type Row } from "./results.ts";

const QUESTION = "How many tickets are open?";

const machine = new NewMachine();
try {
  await machine.pack();
  // Fills npm's cache.
  machine.createProject("chat", "before");
  const seconds = await firstAnswer("agent");
  report({
    rows: [
      row("commands", { value: commandsOfGuide(), unit: "commands", goal: 2 }),
      row("seconds, npm's cache is warm", { value: seconds, unit: "s", goal: 40 }),
    ],
  });
} finally {
  machine.remove();
}

type Figure = Pick<Row, "value" | "unit" | "goal">;

function row(name: string, { goal, ...figure }: Figure): Row {
  return plainRow({ name: `new project: ${name}`, ...figure }, goal);
}

/** Creates and starts a project and asks a question, as the quickstart does. */
async function firstAnswer(name: string): Promise<number> {
  const startedMs = performance.now();
  machine.createProject("chat", name);
  const server = await machine.start(name);
  try {
    const { text } = await askFirst(server.url, QUESTION);
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
    if (!text.includes("167")) throw new Error(`${QUESTION} was answered with:\n${text}`);
    return seconds;
  } finally {
    server.stop();
  }
}

/** Counts the command lines of the quickstart's first block. */
function commandsOfGuide(): number {
  const guide = readFileSync(join(import.meta.dirname, "../docs/guides/quickstart.md"), "utf8");
  const [, block = ""] = /```sh\n([^]*?)\n```/u.exec(guide) ?? [];
  return block.split("\n").length;
}
