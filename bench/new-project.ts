/**
 * Measures the first steps of a new user, from an empty folder to the first answer of their own agent: `npm run
 * bench -- new-project`. Needs npm's registry or its cache.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { askFirst, NewMachine, warningsIn } from "../test/support/new-machine.ts";
import { plainRow, report, type Row } from "./results.ts";

const QUESTION = "How many tickets are open?";
/** Not counted as the user's file: only npm reads and writes it. */
const LOCKFILE = "package-lock.json";

const machine = new NewMachine();
try {
  await machine.pack();
  // Fills npm's cache.
  machine.createProject("chat", "before");
  const { seconds, said } = await firstAnswer("agent");
  for (const script of ["types", "test", "deploy -- --dry-run"]) {
    said.push(machine.run("agent", "npm", "run", ...script.split(" ")));
  }
  const files = ownFiles("agent");
  const lines = files.map((name) => linesIn(join(machine.folder, "agent", name)));
  report({
    rows: [
      row("commands", { value: commandsOfGuide(), unit: "commands", goal: 2 }),
      row("seconds, npm's cache is warm", { value: seconds, unit: "s", goal: 40 }),
      row("package", { value: statSync(machine.byref).size / 1000, unit: "KB", goal: 900 }),
      row("files of the package", { value: filesIn(machine.byref), unit: "files", goal: 250 }),
      row("own files", { value: files.length, unit: "files", goal: 8 }),
      row("own lines", { value: lines.reduce((a, b) => a + b, 0), unit: "lines", goal: 150 }),
      row("warnings", { value: warningsIn(said.join("\n")).length, unit: "lines", goal: 0 }),
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
async function firstAnswer(name: string) {
  const startedMs = performance.now();
  const said = [machine.createProject("chat", name)];
  const server = await machine.start(name);
  try {
    const { text } = await askFirst(server.url, QUESTION);
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
    if (!text.includes("167")) throw new Error(`${QUESTION} was answered with:\n${text}`);
    return { seconds, said: [...said, server.output()] };
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

function ownFiles(name: string): readonly string[] {
  const root = join(machine.folder, name);
  const made = new Set(["node_modules", ".wrangler", LOCKFILE]);
  return readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (path) => !made.has(path.split("/")[0] ?? "") && statSync(join(root, path)).isFile(),
  );
}

function linesIn(path: string): number {
  return readFileSync(path, "utf8").split("\n").length - 1;
}

/** Counts the entries of a tar archive: a header of 512 bytes, then the file in blocks of 512. */
function filesIn(tarball: string): number {
  const bytes = gunzipSync(readFileSync(tarball));
  let count = 0;
  for (let at = 0; bytes[at] !== 0 && at < bytes.length; count++) {
    const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 136), 8);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return count;
}
