import type { FileTarget } from "./template-target.ts";

/** What placeholders stand for. It is settled when a run begins, so that a run over midnight has one day. */
export interface Placeholders {
  /** A date in UTC: `2026-11-22`. */
  readonly today: string;
}

const TODAY = "{today}";

/** The day in UTC at a time in milliseconds since 1970, as `{today}` prints it. */
export function dayAt(timeMs: number): string {
  const [day = ""] = new Date(timeMs).toISOString().split("T");
  return day;
}

export function fillPlaceholders(text: string, { today }: Placeholders): string {
  return text.replaceAll(TODAY, () => today);
}

/** The first `{word}` that stands for nothing, which would be a part of the file's name. */
export function unknownPlaceholder(text: string): string | undefined {
  const [found] = text.replaceAll(TODAY, "").match(/\{\w+\}/) ?? [];
  return found;
}

export function fillTarget(target: FileTarget, placeholders: Placeholders): FileTarget {
  return { ...target, path: fillPlaceholders(target.path, placeholders) };
}
