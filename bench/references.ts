/**
 * Compares the reference engine with the code that it replaces: `npm run bench`. Only ratios within one run
 * are meaningful; the figures and the goals are in `bench/README.md`.
 */
import { expandText, lookupIn, resolveReferences } from "../src/references.ts";
import { ratioRows, report } from "./results.ts";
import { interleave, median } from "./statistics.ts";

const ROUNDS = 40;
const WARM_UP = 10;
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

/** What is timed, and how often for one sample. */
interface Timed {
  readonly times: number;
  readonly run: () => unknown;
}

const expanded = (text: string): Timed => ({
  times: 5,
  run: () => pump(expandText(lookup, { couldBegin }), text),
});
const resolved = (rows: string): Timed => ({
  times: 2_000,
  run: () => resolveReferences({ rows }, largeLookup),
});
const parsed: Timed = { times: 1, run: () => JSON.stringify(JSON.parse(largeText)) };

await compare("text without references", 1.3, {
  ours: expanded(plain),
  identity: { times: 5, run: () => pump(new TransformStream<string, string>(), plain) },
});
await compare("text with references", 1, {
  ours: expanded(referring),
  "held and regex": { times: 5, run: () => pump(heldThenReplaced(), referring) },
});
// Independent of the size; the rest is noise between measurements.
await compare("resolving 10 MB", 1.3, { ours: resolved("$large"), "1 KB": resolved("$small") });
await compare("resolving 10 MB", null, { ours: resolved("$large"), "parse and stringify": parsed });

/** Reports the ratio of ours to the other side, from samples in turn. */
async function compare(
  name: string,
  goal: number | null,
  sides: Readonly<Record<string, Timed>>,
): Promise<void> {
  const timeOf = async (side: string) => {
    const { times = 1, run } = sides[side] ?? {};
    const startMs = performance.now();
    for (let time = 0; time < times; time++) await run?.();
    return (performance.now() - startMs) / times;
  };
  // The compiler has seen all sides before any is measured.
  await interleave(Object.keys(sides), WARM_UP, timeOf);
  const samples = await interleave(Object.keys(sides), ROUNDS, timeOf);
  for (const [side, values] of Object.entries(samples))
    console.log(`${name}, ${side}: ${median(values).toPrecision(3)} ms`);
  const [, other = ""] = Object.keys(sides);
  const rows = ratioRows({ name, samples, unit: "ms", against: { [other]: goal } });
  report({ rows: rows.map(({ sides: _sides, sidesUnit: _unit, ...row }) => row) });
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
