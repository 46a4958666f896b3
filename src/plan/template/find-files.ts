import * as limits from "../../limits.ts";
import { requireAtMost } from "../../errors.ts";
import { Work } from "../../value/work.ts";

type List = (prefix: string) => Promise<readonly string[]>;

/** A request to the bucket takes as long as reading so many characters, at least. */
const LISTING = 100_000;

/** The files that the patterns of one step fit. */
export class FileFinder {
  readonly #work = new Work();
  /** By prefix. */
  readonly #listed = new Map<string, readonly string[]>();
  #found = 0;

  /**
   * The paths that fit the pattern, in order. Throws `limit_exceeded` for more than `maxTemplateFiles` of all
   * patterns of the step, and where finding them takes more than `maxReadWork`.
   */
  async find(pattern: string, list: List): Promise<readonly string[]> {
    const listed = await this.#list(prefixOf(pattern), list);
    const paths = listed.filter((path) => matchesGlob(pattern, path, this.#work)).sort();
    this.#found += paths.length;
    const advice = `With file:${pattern} the step fits too many files: name fewer.`;
    requireAtMost(["maxTemplateFiles", limits.maxTemplateFiles], this.#found, advice);
    return paths;
  }

  /** Asks once for all patterns that begin alike. */
  async #list(prefix: string, list: List): Promise<readonly string[]> {
    const known = this.#listed.get(prefix);
    if (known !== undefined) return known;
    const listed = await list(prefix);
    this.#work.spend(listed.reduce((chars, path) => chars + path.length, LISTING));
    this.#listed.set(prefix, listed);
    return listed;
  }
}

const ANY_FOLDERS = "**";

/** Can the pattern fit more than one path? */
export function isGlob(pattern: string): boolean {
  return globStart(pattern) < pattern.length;
}

/** What every path that fits the pattern begins with. */
export function prefixOf(pattern: string): string {
  return pattern.slice(0, globStart(pattern));
}

function globStart(pattern: string): number {
  const start = pattern.search(/[*?]/);
  return start === -1 ? pattern.length : start;
}

/**
 * Does the pattern fit the whole path? `?` is one character and `*` any number of them, within a folder or
 * file name; `**` as a whole name is any number of folders, at the end everything below. All else stands
 * for itself. Cost: at most the pattern's length times the path's; `work` is told of each step.
 */
export function matchesGlob(pattern: string, path: string, work = new Work()): boolean {
  const names = pattern.split("/");
  if (names.at(-1) === ANY_FOLDERS) names.push("*");
  work.spend(names.length + path.length);
  return fits(names, path.split("/"), {
    isAny: (name) => name === ANY_FOLDERS,
    fitsOne: (name, item) => fitsName(name, item, work),
  });
}

function fitsName(pattern: string, name: string, work: Work): boolean {
  return fits([...pattern], [...name], {
    isAny: (mark) => mark === "*",
    fitsOne: (mark, character) => {
      work.spend(STEP);
      return mark === "?" || mark === character;
    },
  });
}

/** Comparing two characters takes about as long as reading so many. */
const STEP = 10;

interface Rules {
  /** Stands for any number of items. */
  readonly isAny: (part: string) => boolean;
  /** Else it stands for one, if that fits. */
  readonly fitsOne: (part: string, item: string) => boolean;
}

/**
 * The items that an `any` leaves over are tried from the left. Only the last one is ever taken back: what
 * the ones before it took at first leaves the most for the rest.
 */
function fits(parts: readonly string[], items: readonly string[], rules: Rules): boolean {
  const { isAny, fitsOne } = rules;
  let part = 0;
  let item = 0;
  let lastAny = -1;
  let takenUpTo = 0;
  while (item < items.length) {
    const wanted = parts[part];
    if (wanted !== undefined && isAny(wanted)) {
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
  return parts.slice(part).every(isAny);
}
