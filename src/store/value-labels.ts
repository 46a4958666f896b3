import type { VariableInfo } from "./variable-store.ts";
import { guardOf } from "./visibility.ts";

/** Who may see a value, and where it comes from. */
export type ValueLabels = Pick<VariableInfo, "visibility" | "sources" | "trusted">;

/** The labels of what is made of several values. */
export function joinedLabels(labels: readonly ValueLabels[]): ValueLabels {
  return {
    visibility: guardOf(labels.map(({ visibility }) => visibility)),
    sources: [...new Set(labels.flatMap(({ sources }) => sources))],
    trusted: labels.every(({ trusted }) => trusted),
  };
}
