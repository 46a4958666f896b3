import { automaticBase, MAX_BASE_CHARS, MAX_NUMBER, requireName, splitNumber } from "./names.ts";
import type { Write } from "./variable-store.ts";
import { newName } from "./write-mode.ts";

/** A variable, or an evicted one, whose name starts so, and the call that made it. */
export interface Sibling {
  readonly name: string;
  readonly tool: string | undefined;
  readonly inputDigest: string | undefined;
}

/**
 * The name under which a value is saved. The same call of the same tool gets the name it had (and so a
 * new version); another call whose name is taken gets the next number that was never used. What is a run's
 * has the run behind its name, and in front of that one which nothing else has: there it is called by it.
 */
export function chooseName(
  write: Pick<Write, "name" | "tool" | "mode" | "run">,
  siblingsOf: (base: string) => readonly Sibling[],
  highestNumber: (base: string) => number,
): string {
  const { name = { base: "variable", numbered: true, inputDigest: "" }, tool } = write;
  if (typeof name === "string") {
    requireName(name);
    if (write.mode !== "new") return name;
    const used = siblingsOf(name).map((sibling) => numberOf(sibling.name, name));
    return requireName(newName(name, Math.max(highestNumber(name), ...used)));
  }
  const ending = write.run === undefined ? "" : `_${write.run}`;
  const base = automaticBase(name.base).slice(0, Math.max(MAX_BASE_CHARS - ending.length, 1));
  const siblings = siblingsOf(base).flatMap((sibling) => withoutEnding(sibling, ending, base));
  const same = siblings.find(
    (sibling) =>
      sibling.isOwn &&
      tool !== undefined &&
      sibling.tool === tool &&
      sibling.inputDigest === name.inputDigest,
  );
  if (same !== undefined) return `${same.name}${ending}`;
  const isTaken = siblings.some((sibling) => sibling.name === base);
  if (!name.numbered && !isTaken) return `${base}${ending}`;
  // The one without a number counts as the first: what follows is `_2`.
  const used = siblings.map((sibling) => numberOf(sibling.name, base));
  const highest = Math.max(name.numbered ? 0 : 1, highestNumber(base), ...used);
  if (highest < MAX_NUMBER) return `${base}_${highest + 1}${ending}`;
  // Somebody took the last number by hand.
  const next = { ...name, base: `${base.slice(0, MAX_CONTINUED_CHARS)}_next` };
  return chooseName({ ...write, name: next }, siblingsOf, highestNumber);
}

const MAX_CONTINUED_CHARS = 40;

/** By the name that its run calls it by; none if it is no sibling. */
function withoutEnding(
  sibling: Sibling,
  ending: string,
  base: string,
): readonly (Sibling & { readonly isOwn: boolean })[] {
  const isOwn = sibling.name.endsWith(ending);
  const end = isOwn ? sibling.name.length - ending.length : sibling.name.length;
  const name = sibling.name.slice(0, end);
  const isSibling = name === base || splitNumber(name)?.base === base;
  return isSibling ? [{ ...sibling, name, isOwn }] : [];
}

const NO_NUMBER = -1;

function numberOf(name: string, base: string): number {
  const split = splitNumber(name);
  return split?.base === base ? split.number : NO_NUMBER;
}

/** The numbers that names used, by base, so that none is given twice: after deletes as well. */
export class UsedNumbers {
  readonly #highest: Map<string, number>;

  constructor(highest: Readonly<Record<string, number>> = {}) {
    this.#highest = new Map(Object.entries(highest));
  }

  /** -1 if none was used. */
  highest(base: string): number {
    return this.#highest.get(base) ?? NO_NUMBER;
  }

  /** True if that was news. */
  note(name: string): boolean {
    const split = splitNumber(name);
    if (split === undefined || split.number <= this.highest(split.base)) return false;
    this.#highest.set(split.base, split.number);
    return true;
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#highest);
  }
}
