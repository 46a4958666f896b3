/**
 * Benchmarks by name, each in a process of its own: `npm run bench`, `npm run bench -- memory`. Without a
 * name only `references`: `memory` takes a gigabyte of disk and a minute, the others some minutes each.
 * Options go to all that are run.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const files: Readonly<Record<string, string>> = {
  references: "references.ts",
  memory: "memory.ts",
  loop: "loop.ts",
  many: "many.ts",
  "turns-memory": "turns-memory.ts",
};
const DEFAULTS = ["references"];

const given = process.argv.slice(2);
const options = given.filter((argument) => argument.startsWith("--"));
const named = given.filter((argument) => !argument.startsWith("--"));
for (const name of named.length === 0 ? DEFAULTS : named) {
  const file = Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) {
    console.error(`There is no bench ${name}; there are ${Object.keys(files).join(", ")}.`);
    process.exit(2);
  }
  const path = join(import.meta.dirname, file);
  const { status } = spawnSync(process.execPath, [path, ...options], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
