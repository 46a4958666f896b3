import { expect, it } from "vitest";
import { codeOf } from "../../src/errors.ts";
import { parseJson } from "../../src/edge/http/read-body.ts";
import { Expander } from "../../src/reference/expand.ts";
import { interpolate, resolveReferences } from "../../src/reference/resolve.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { WriteMode } from "../../src/store/variable-store.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { saveTargetIn } from "../../src/tool/save-target.ts";
import type { Json } from "../../src/value/json.ts";
import { toJson } from "../../src/value/to-json.ts";
import { Random } from "../chaos/random.ts";
import { samples } from "../support/slow.ts";

const TIMES = samples(100_000);
const inherited = [
  ...Object.getOwnPropertyNames(Object.prototype),
  ...Object.getOwnPropertyNames(Array.prototype),
  ...Object.getOwnPropertyNames(Function.prototype),
  ...Object.getOwnPropertyNames(String.prototype),
  "prototype",
  "polluted",
];
const keys = [...inherited, "a", "b", "0", "", "a b", "'", "\u0000"];

/** Returns the property names of all shared prototypes as JSON. */
function prototypes(): string {
  const shared = [Object, Array, Function, String, Number, Boolean, Promise, Map, Set, Error];
  const names = shared.map(({ prototype }) => Reflect.ownKeys(prototype).map(String));
  return JSON.stringify(names);
}

/** Returns JSON text with hostile keys, which `JSON.parse` turns into own properties. */
function randomJson(random: Random, depth = 3): string {
  if (depth === 0 || random.chance(0.3)) return random.one(["1", "true", "null", '"polluted"']);
  const count = random.between(0, 3);
  if (random.chance(0.3)) {
    return `[${Array.from({ length: count }, () => randomJson(random, depth - 1)).join()}]`;
  }
  const members = Array.from(
    { length: count },
    () => `${JSON.stringify(random.one(keys))}:${randomJson(random, depth - 1)}`,
  );
  return `{${members.join()}}`;
}

function randomPath(random: Random): string {
  const segment = () => {
    const key = random.one(keys);
    return random.chance(0.5) && /^\w+$/.test(key) ? `.${key}` : `['${key.replaceAll("'", "")}']`;
  };
  return Array.from({ length: random.between(1, 4) }, segment).join("");
}

/** Runs `work`. Rethrows internal errors, and returns undefined for refusals. */
async function attempt<Result>(work: () => Result | Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === "internal") throw error;
    return undefined;
  }
}

/** True if the value contains a native function, or is not JSON. */
function isInherited(value: unknown): boolean {
  const text = JSON.stringify(value, (_, part: unknown) =>
    typeof part === "function" ? String(part) : part,
  );
  return text === undefined || text.includes("[native code]");
}

it(`no key, path or name reaches an object's prototype, in ${TIMES} attempts`, async () => {
  const random = new Random(1);
  const before = prototypes();
  let store = new MemoryStore();
  let reached = 0;
  for (let time = 0; time < TIMES; time++) {
    if (time % 1_000 === 0) store = new MemoryStore();
    const text = randomJson(random);
    const value = parseJson(text);
    const lookup = lookupInStore(store);
    const name = random.one(["v", "w", random.one(keys)]);
    const reference = `$${name}${randomPath(random)}`;
    const way = time % 5;
    if (way === 0) {
      const converted = toJson(JSON.parse(text)).value;
      if (JSON.stringify(converted) !== JSON.stringify(value)) reached++;
    } else if (way === 1) {
      const mode = random.one<WriteMode>(["replace", "merge", "append", "new"]);
      await attempt(() => store.save({ name, value, mode }));
    } else if (way === 2) {
      const place = await attempt(() => saveTargetIn(reference).places[0]);
      if (place !== undefined) {
        await attempt(() => store.save({ name: place.name, path: place.path, value }));
      }
    } else if (way === 3) {
      const input = { [random.one(keys)]: reference, nested: value } as Json;
      const resolved = await attempt(() => resolveReferences(input, lookup));
      if (resolved !== undefined && isInherited(resolved.value)) reached++;
      const written = await attempt(() =>
        interpolate(`<${reference}>`, lookup, { syntaxes: ["dollar"] }),
      );
      if (written !== undefined && isInherited(written.text)) reached++;
    } else {
      const expander = new Expander(lookup);
      let answer = "";
      await expander.write(`<${reference}>`, (piece) => (answer += piece));
      await expander.flush((piece) => (answer += piece));
      if (isInherited(answer)) reached++;
    }
    if (Reflect.get({}, "polluted") !== undefined) reached++;
  }
  if (prototypes() !== before) reached++;
  expect(reached).toBe(0);
});
