import { splitNumber } from "./names.ts";

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
