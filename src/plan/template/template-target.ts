import type { Reference } from "../../reference/reference.ts";
import { formatPath } from "../../value/path.ts";

/** A variable, or a place in one. */
export interface VariableTarget extends Reference {
  readonly scheme: "variable";
}

/** A file in the conversation's folder, or a file pattern. Contains `{today}` as written. */
export interface FileTarget {
  readonly scheme: "file";
  readonly path: string;
}

export type Target = VariableTarget | FileTarget;

/** Formats a target as in a directive: `variable:results[0].id`, `file:notes/*.md`. */
export function formatTarget(target: Target): string {
  if (target.scheme === "file") return `file:${target.path}`;
  return `variable:${target.name}${formatPath(target.path)}`;
}

/** The values of placeholders. They are fixed when a run begins, so that a run past midnight uses one day. */
export interface Placeholders {
  /** A date in UTC: `2026-11-22`. */
  readonly today: string;
}

const TODAY = "{today}";

/** The UTC day of a time in milliseconds since 1970, as `{today}` prints it. */
export function dayAt(timeMs: number): string {
  const [day = ""] = new Date(timeMs).toISOString().split("T");
  return day;
}

export function fillPlaceholders(text: string, { today }: Placeholders): string {
  return text.replaceAll(TODAY, () => today);
}

/** The first unknown `{word}`. It would otherwise become part of the file's name. */
export function unknownPlaceholder(text: string): string | undefined {
  const [found] = text.replaceAll(TODAY, "").match(/\{\w+\}/) ?? [];
  return found;
}

export function fillTarget(target: FileTarget, placeholders: Placeholders): FileTarget {
  return { ...target, path: fillPlaceholders(target.path, placeholders) };
}
