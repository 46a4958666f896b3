import { requireAtMost } from "../../../../src/errors.ts";
import { Work } from "../../../../src/internal.ts";

type List = (prefix: string) => Promise<readonly string[]>;

/** The cost of a bucket request, in characters of reading. A lower bound. */
const LISTING = 100_000;

export type FindFiles = (pattern: string, list: List) => Promise<readonly string[]>;

/**
 * Returns a function that finds the files of one step: the paths that match a pattern, in order. It throws
 * `limit_exceeded` if all patterns of the step together match more than `maxItems`, or if the search takes more than
 * `maxReadWork`. Patterns with the same prefix are one request.
 */
export function fileFinder(): FindFiles {
  const work = new Work();
  const listed = new Map<string, readonly string[]>();
  let found = 0;
  return async (pattern, list) => {
    const [prefix = ""] = pattern.split(/[*?]/);
    const all = listed.get(prefix) ?? (await list(prefix));
    if (!listed.has(prefix)) work.spend(all.reduce((sum, { length }) => sum + length, LISTING));
    listed.set(prefix, all);
    const paths = all.filter((path) => matchesGlob(pattern, path, work)).sort();
    found += paths.length;
    const advice = `With file:${pattern} the step fits too many files: name fewer.`;
    requireAtMost("maxItems", found, advice);
    return paths;
  };
}

const ANY_FOLDERS = "**";

export function isGlob(pattern: string): boolean {
  return /[*?]/.test(pattern);
}

/**
 * True if the pattern matches the whole path. `?` is one character and `*` any number of them, within a
 * folder or file name. `**` as a whole name is any number of folders, and at the end everything below. All
 * other characters stand for themselves. Cost: at most the pattern's length times the path's. Counts each
 * step in `work`.
 */
export function matchesGlob(pattern: string, path: string, work = new Work()): boolean {
  const names = pattern.split("/");
  if (names.at(-1) === ANY_FOLDERS) names.push("*");
  work.spend(names.length + path.length);
  const fitsName = (name: string, item: string) =>
    fits([...name], [...item], "*", (mark, character) => {
      work.spend(STEP);
      return mark === "?" || mark === character;
    });
  return fits(names, path.split("/"), ANY_FOLDERS, fitsName);
}

/** The cost of comparing two characters, in characters of reading. */
const STEP = 10;

/**
 * Matches the parts from the left. Only the last wildcard backtracks: the shortest match of the earlier ones
 * leaves the most items for the rest. `any`: the part that matches any number of items.
 */
function fits(
  parts: readonly string[],
  items: readonly string[],
  any: string,
  fitsOne: (part: string, item: string) => boolean,
): boolean {
  let part = 0;
  let item = 0;
  let lastAny = -1;
  let takenUpTo = 0;
  while (item < items.length) {
    const wanted = parts[part];
    if (wanted === any) {
      lastAny = part++;
      takenUpTo = item;
    } else if (wanted !== undefined && fitsOne(wanted, items[item] ?? "")) {
      part++;
      item++;
    } else if (lastAny >= 0) {
      part = lastAny + 1;
      item = ++takenUpTo;
    } else {
      return false;
    }
  }
  return parts.slice(part).every((one) => one === any);
}
