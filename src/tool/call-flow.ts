import type { Reference } from "../reference/reference.ts";
import { splitNumber } from "../store/names.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Path } from "../value/path.ts";

/**
 * The variables that a call reads and writes, as far as its input shows before it is prepared. Names are those of
 * the store.
 */
export interface CallFlow {
  readonly reads: readonly Read[];
  readonly writes: readonly Written[];
}

interface Read extends Reference {
  readonly source: string;
  /** False for one of several alternatives. */
  readonly isNeeded: boolean;
}

/**
 * A place; the base of an automatic name, which the store may number; or how an automatic name begins, if the
 * rest depends on values that the input refers to.
 */
export type Written = Reference | { readonly base: string } | { readonly prefix: string };

/** The flow of a call whose input shows nothing. */
export const NO_FLOW: CallFlow = { reads: [], writes: [] };

/** True if the call may write what is read. Places overlap if one is part of the other. */
export function mayWrite(written: Written, read: Reference, store: VariableStore): boolean {
  if ("path" in written) return written.name === read.name && overlap(written.path, read.path);
  if ("base" in written && written.base === read.name) return true;
  const mayBeNew =
    "prefix" in written
      ? `${read.name}_`.startsWith(`${written.prefix}_`)
      : splitNumber(read.name)?.base === written.base;
  return mayBeNew && store.glance(read.name) === undefined;
}

function overlap(one: Path, other: Path): boolean {
  return one.every((segment, at) => {
    const against = other[at];
    if (against === undefined || !("key" in segment) || !("key" in against)) return true;
    return segment.key === against.key;
  });
}
