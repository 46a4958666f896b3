/**
 * Compares the reference engine with the code that it replaces: `npm run bench`. Only ratios within one run
 * are meaningful; the figures and the goals are in `bench/README.md`.
 */
import { Bench } from "tinybench";
import { expandText, lookupIn, resolveReferences } from "../src/references.ts";
import { plainRow, report } from "./results.ts";

const DELTA_CHARS = 4;
const TEXT_CHARS = 40_000;

const lookup = lookupIn({ city: { name: "Oslo", temp: 21 } });
const names = new Set(["city"]);
const couldBegin = (prefix: string) => [...names].some((name) => name.startsWith(prefix));

const plain = "The quick brown fox jumps over the lazy dog, 12 times for 5.00 each. "
  .repeat(1_000)
  .slice(0, TEXT_CHARS);
const referring = `${"x".repeat(180)} $city.name, ${"y".repeat(6)} `
  .repeat(TEXT_CHARS / 200)
  .slice(0, TEXT_CHARS);

const large = Array.from({ length: 60_000 }, (_, id) => ({
  id,
  name: `customer ${id}`,
  note: "a note of some length, so that the whole comes to ten megabytes or so; it says nothing else",
  total: id * 1.5,
}));
const largeText = JSON.stringify(large);
const largeLookup = lookupIn({ large, small: large.slice(0, 10) });

console.log(
  `Node ${process.version}; texts of ${TEXT_CHARS} characters in deltas of ${DELTA_CHARS}; large value ${(largeText.length / 1e6).toFixed(1)} MB\n`,
);

const streams = new Bench({ time: 1_500, warmupTime: 300 });
streams
  .add("no references: identity TransformStream", () =>
    pump(new TransformStream<string, string>(), plain),
  )
  .add("no references: expandText", () => pump(expandText(lookup, { couldBegin }), plain))
  .add("a reference each 200: expandText", () =>
    pump(expandText(lookup, { couldBegin }), referring),
  )
  .add("a reference each 200: held, then regex", () => pump(heldThenReplaced(), referring));
await streams.run();

const values = new Bench({ time: 500, warmupTime: 100 });
values
  .add("10 MB: resolveReferences", () => resolveReferences({ rows: "$large" }, largeLookup))
  .add("1 KB: resolveReferences", () => resolveReferences({ rows: "$small" }, largeLookup))
  .add("10 MB: parse and stringify", () => JSON.stringify(JSON.parse(largeText)));
await values.run();

const rows = [...streams.tasks, ...values.tasks].map((task) => {
  const { latency } = task.result as { latency: { p50: number; rme: number } };
  return { name: task.name, ms: latency.p50, spread: latency.rme };
});
for (const { name, ms, spread } of rows) {
  const perSecond = ((TEXT_CHARS / DELTA_CHARS / ms) * 1_000).toExponential(2);
  const deltas =
    name.includes("referen") && !name.includes("B:") ? `  ${perSecond} deltas a second` : "";
  console.log(
    `${name.padEnd(44)} ${ms.toFixed(4).padStart(10)} ms  ±${spread.toFixed(1)} %${deltas}`,
  );
}
const ratios: readonly (readonly [name: string, a: string, b: string, goal: number | null])[] = [
  [
    "text without references: against identity",
    "no references: expandText",
    "no references: identity TransformStream",
    1.3,
  ],
  [
    "text with references: against held and regex",
    "a reference each 200: expandText",
    "a reference each 200: held, then regex",
    1,
  ],
  // Independent of the size; the rest is noise between measurements.
  ["resolving 10 MB: against 1 KB", "10 MB: resolveReferences", "1 KB: resolveReferences", 1.3],
  [
    "resolving 10 MB: against parse and stringify",
    "10 MB: resolveReferences",
    "10 MB: parse and stringify",
    null,
  ],
];
report({
  rows: ratios.map(([name, a, b, goal]) =>
    plainRow({ name, value: msOf(a) / msOf(b), unit: "times", against: b }, goal),
  ),
});

function msOf(name: string): number {
  return rows.find((row) => row.name === name)?.ms ?? Number.NaN;
}

async function pump(transform: TransformStream<string, string>, text: string): Promise<number> {
  const writer = transform.writable.getWriter();
  const writing = (async () => {
    for (let start = 0; start < text.length; start += DELTA_CHARS) {
      await writer.write(text.slice(start, start + DELTA_CHARS));
    }
    await writer.close();
  })();
  let chars = 0;
  const reader = transform.readable.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    chars += read.value.length;
  await writing;
  return chars;
}

/** The implementation without an engine: holds the answer and replaces references once at its end. */
function heldThenReplaced(): TransformStream<string, string> {
  let held = "";
  return new TransformStream({
    transform(chunk) {
      held += chunk;
    },
    flush(controller) {
      controller.enqueue(
        held.replaceAll(/\$([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)/g, (_, name: string, path: string) =>
          name === "city" && path === ".name" ? "Oslo" : `$${name}${path}`,
        ),
      );
    },
  });
}
