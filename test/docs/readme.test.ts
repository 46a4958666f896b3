import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readResults } from "../../bench/results.ts";
import { commandsIn } from "../support/documented-commands.ts";

const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const lines = readme.trimEnd().split("\n");

/** Returns the index of the first line that contains these words, or -1. */
const at = (words: string) => lines.findIndex((line) => line.includes(words));

it("the README has at most 200 lines", () => {
  expect(lines.length).toBeLessThanOrEqual(200);
});

it("its first screen has a picture, the problem in figures, and four ways to start", () => {
  const first = ["docs/images/monthly-totals.webp", "| the problem |", "## Start", "**Try it**"];
  const ways = [
    "**Add it to an agent**",
    "**Put it in front of MCP servers**",
    "**Start a project**",
  ];
  const places = [...first, ...ways].map(at);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places).not.toContain(-1);
  expect(places.at(-1)).toBeLessThan(60);
  const commands = commandsIn("README.md").map(({ command }) => command);
  expect(commands.slice(0, 2)).toEqual(["npm ci && npm start", "npm ci && npm test"]);
});

it("its figures are the measured ones", () => {
  const { rows } = readResults(join(root, "bench/results.json"));
  const names = ["characters of messages", "tokens of all calls"];
  for (const name of names) {
    const row = rows.find((other) => other.name === `prompt after a large result: ${name}`);
    const shown = ["kept", "ours"].map((side) =>
      row?.sides?.[side]?.median.toLocaleString("en-US"),
    );
    expect(readme).toContain(`| ${shown.join(" | ")} | \`npm run bench:peers\` |`);
  }
  const evaluation = readFileSync(join(root, "docs/guides/evaluation.md"), "utf8");
  const intact = evaluation.split("\n").find((line) => line.startsWith("| bytes intact | "));
  const [byValue, , , byReference] = Array.from(
    intact?.matchAll(/([\d.]+) % \(/g) ?? [],
    ([, share]) => Math.round(Number(share)),
  );
  expect(readme).toContain(`| ${byValue} % | ${byReference} % | \`npm run eval`);
});

it("its images exist, including light, dark and phone", () => {
  const names = ["monthly-totals", "dark", "phone", "approval", "receipt", "waterfall"];
  for (const name of names) {
    expect(readme).toContain(`docs/images/${name}.webp`);
    expect(existsSync(join(root, `docs/images/${name}.webp`))).toBe(true);
  }
});
