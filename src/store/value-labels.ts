import type { Flag, VariableInfo, Visibility } from "./variable.ts";
import { guardOf } from "./visibility.ts";

/** Who may see a value, and where it comes from. */
export type ValueLabels = Pick<VariableInfo, "visibility" | "sources" | "trusted" | "flags">;

/** The labels of what is made of several values. */
export function joinedLabels(labels: readonly ValueLabels[]): ValueLabels {
  return {
    visibility: guardOf(labels.map(({ visibility }) => visibility)),
    sources: [...new Set(labels.flatMap(({ sources }) => sources))],
    trusted: labels.every(({ trusted }) => trusted),
    ...flagged(labels.flatMap(({ flags = [] }) => flags)),
  };
}

/** The flags, each once, as a property to spread; nothing if there are none. */
export function flagged(flags: readonly Flag[] = []): { readonly flags?: readonly Flag[] } {
  return flags.length === 0 ? {} : { flags: [...new Set(flags)] };
}

/** The `visibility` column: the visibility, then the flags, separated by spaces. */
export function visibilityText({
  visibility,
  flags = [],
}: {
  readonly visibility: Visibility;
  readonly flags?: readonly Flag[] | undefined;
}): string {
  return [visibility, ...flags].join(" ");
}

/** Reads what `visibilityText` wrote. */
export function visibilityIn(text: string): Pick<ValueLabels, "visibility" | "flags"> {
  const [visibility, ...flags] = text.split(" ");
  return { visibility: visibility as Visibility, ...flagged(flags as Flag[]) };
}
