import type { Call } from "./rows/rows.ts";
import { automaticBase, MAX_BASE_CHARS, MAX_NUMBER, requireName, splitNumber } from "./names.ts";
import type { Write } from "./variable-store.ts";

/** The names of variables, and of evicted ones. */
export interface TakenNames {
  has(name: string): boolean;
  /** Those that start so, and others, which this call has made. */
  ofCall(base: string, call: Call): readonly string[];
  /** The highest number that was ever used between the base and the ending; -1 if none was. */
  highestNumber(base: string, ending: string): number;
}

/**
 * The name under which a value is saved. The same call of the same tool gets the name it had (and so a
 * new version); another call whose name is taken gets the next number that was never used. What is a run's
 * has the run behind its name, and in front of that one which nothing else has: there it is called by it.
 */
export function chooseName(
  write: Pick<Write, "name" | "tool" | "mode" | "run">,
  taken: TakenNames,
): string {
  const { name = { base: "variable", numbered: true, inputDigest: "" }, tool } = write;
  if (typeof name === "string") {
    requireName(name);
    return write.mode === "new" ? requireName(newName(name, taken.highestNumber(name, ""))) : name;
  }
  const ending = write.run === undefined ? "" : `_${write.run}`;
  const base = automaticBase(name.base).slice(0, Math.max(MAX_BASE_CHARS - ending.length, 1));
  const { inputDigest } = name;
  const ofCall = tool === undefined ? [] : taken.ofCall(base, { tool, inputDigest });
  const same = ofCall.find((other) => isOf(base, other, ending));
  if (same !== undefined) return same;
  const isTaken = taken.has(base) || taken.has(base + ending);
  if (!name.numbered && !isTaken) return `${base}${ending}`;
  // The one without a number counts as the first: what follows is `_2`.
  const used = ["", ending].map((end) => taken.highestNumber(base, end));
  let highest = Math.max(name.numbered ? 0 : 1, ...used);
  // It may be that somebody took a name of the run by hand.
  while (taken.has(`${base}_${highest + 1}${ending}`)) highest++;
  if (highest < MAX_NUMBER) return `${base}_${highest + 1}${ending}`;
  // Somebody took the last number by hand.
  const next = { ...name, base: `${base.slice(0, MAX_CONTINUED_CHARS)}_next` };
  return chooseName({ ...write, name: next }, taken);
}

const MAX_CONTINUED_CHARS = 40;

/** The first of `name_000`, `name_001` … above every number that was used. */
function newName(name: string, highestNumber: number): string {
  return `${name}_${String(highestNumber + 1).padStart(3, "0")}`;
}

/** Is the name the base, with a number behind it or not, and the ending? */
function isOf(base: string, name: string, ending: string): boolean {
  if (!name.endsWith(ending)) return false;
  const stem = name.slice(0, name.length - ending.length);
  return stem === base || splitNumber(stem)?.base === base;
}

const NO_NUMBER = -1;

/** The numbers that names used, by base, so that none is given twice: after deletes as well. */
export class UsedNumbers {
  readonly #highest: Map<string, number>;
  readonly #highestInUse: (base: string) => number;
  readonly #counted = new Set<string>();

  /** `highestInUse`: of the names that there are, whatever is noted; asked once of each base. */
  constructor(highest: Readonly<Record<string, number>>, highestInUse: (base: string) => number) {
    this.#highest = new Map(Object.entries(highest));
    this.#highestInUse = highestInUse;
  }

  /** -1 if none was used. */
  highest(base: string): number {
    if (!this.#counted.has(base)) {
      this.#counted.add(base);
      this.#raise(base, this.#highestInUse(base));
    }
    return this.#highest.get(base) ?? NO_NUMBER;
  }

  note(name: string): void {
    const split = splitNumber(name);
    if (split !== undefined) this.#raise(split.base, split.number);
  }

  #raise(base: string, number: number): void {
    if (number > (this.#highest.get(base) ?? NO_NUMBER)) this.#highest.set(base, number);
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#highest);
  }
}
