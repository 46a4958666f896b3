import type { Reference } from "../../reference/reference.ts";
import { formatPath } from "../../value/path.ts";

/** A variable, or a place in one. */
export interface VariableTarget extends Reference {
  readonly scheme: "variable";
}

/** A file in the conversation's folder, or a pattern of such; `{today}` stands in it as written. */
export interface FileTarget {
  readonly scheme: "file";
  readonly path: string;
}

export type Target = VariableTarget | FileTarget;

/** As a directive has it: `variable:results[0].id`, `file:notes/*.md`. */
export function formatTarget(target: Target): string {
  if (target.scheme === "file") return `file:${target.path}`;
  return `variable:${target.name}${formatPath(target.path)}`;
}
