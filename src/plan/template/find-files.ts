import { requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { Work } from "../../value/work.ts";
import { matchesGlob, prefixOf } from "./glob.ts";

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
