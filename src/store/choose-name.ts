import type { Call } from "./rows/rows.ts";
import { automaticBase, MAX_BASE_CHARS, requireName, splitNumber } from "./names.ts";
import type { Write } from "./variable-store.ts";

/** Names of variables and of evicted variables. */
export interface TakenNames {
  has(name: string): boolean;
  /** Names that the call has created. */
  ofCall(call: Call): readonly string[];
  /** The highest number ever used between the base and the ending; -1 if none. */
  highestNumber(base: string, ending: string): number;
}

/**
 * Chooses the name under which a value is saved. A repeated call of the same tool gets its previous name,
 * and so a new version. Another call whose name is taken gets the next unused number. A variable of a run
 * has the run id as a suffix, and a base that is unique without it, because the run refers to the variable
 * by the base.
 */
export function chooseName(
  write: Pick<Write, "name" | "tool" | "mode" | "run">,
  taken: TakenNames,
): string {
  const { name = { base: "variable", numbered: true, inputDigest: "" }, tool } = write;
  if (typeof name === "string") {
    requireName(name);
    if (write.mode !== "new") return name;
    // The first of `name_000`, `name_001` … above every used number.
    const number = String(taken.highestNumber(name, "") + 1).padStart(3, "0");
    return requireName(`${name}_${number}`);
  }
  const ending = write.run === undefined ? "" : `_${write.run}`;
  const base = automaticBase(name.base).slice(0, Math.max(MAX_BASE_CHARS - ending.length, 1));
  const { inputDigest } = name;
  const ofCall = tool === undefined ? [] : taken.ofCall({ tool, inputDigest });
  const same = ofCall.find((other) => isOf(base, other, ending));
  if (same !== undefined) return same;
  const isTaken = taken.has(base) || taken.has(base + ending);
  if (!name.numbered && !isTaken) return `${base}${ending}`;
  // The name without a number counts as the first, so the next one is `_2`.
  const used = ["", ending].map((end) => taken.highestNumber(base, end));
  let highest = Math.max(name.numbered ? 0 : 1, ...used);
  // A caller may have chosen a name with this run's suffix.
  while (taken.has(`${base}_${highest + 1}${ending}`)) highest++;
  return `${base}_${highest + 1}${ending}`;
}

/** True if the name is the base, with or without a number, followed by the ending. */
function isOf(base: string, name: string, ending: string): boolean {
  if (!name.endsWith(ending)) return false;
  const stem = name.slice(0, name.length - ending.length);
  return stem === base || splitNumber(stem)?.base === base;
}

const NO_NUMBER = -1;

/** The highest number used for each base. Numbers are not reused, even after a delete. */
export class UsedNumbers {
  readonly #highest: Map<string, number>;
  readonly #highestInUse: (base: string) => number;
  readonly #counted = new Set<string>();

  /** `highestInUse`: the highest number among existing names, noted or not. Called once for each base. */
  constructor(highest: Readonly<Record<string, number>>, highestInUse: (base: string) => number) {
    this.#highest = new Map(Object.entries(highest));
    this.#highestInUse = highestInUse;
  }

  /** The highest used number of the base; -1 if none. */
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
