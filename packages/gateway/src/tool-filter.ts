import { json } from "../../../src/internal.ts";

/** Which tools of a server are offered, as a client's entry says. */
export interface ToolFilter {
  /** A tool has to be in each of these lists. */
  readonly only: readonly (readonly string[])[];
  readonly not: readonly string[];
}

/** Roo, Kiro, Windsurf; Gemini CLI. */
const WITHOUT = ["disabledTools", "excludeTools"];
/** Gemini CLI; Copilot. */
const ONLY = ["includeTools", "tools"];

/** Returns the filters of an entry, by their keys. */
export function filtersIn(entry: unknown): Readonly<Record<string, unknown>> {
  const { ...all } = json.isObject(entry) ? entry : {};
  const keys = [...WITHOUT, ...ONLY].filter((key) => (all[key] ?? undefined) !== undefined);
  return Object.fromEntries(keys.map((key) => [key, all[key]]));
}

/** Says which filter cannot be read: without it, more tools could be offered than a person allowed. */
export function problemOfFilters(entry: unknown): string | undefined {
  const [key] = Object.entries(filtersIn(entry)).find(([, value]) => !isTexts(value)) ?? [];
  return key === undefined ? undefined : `Its "${key}" is no list of names of tools.`;
}

/** Undefined for an entry without filters. */
export function filterOf(entry: unknown): ToolFilter | undefined {
  const filters = filtersIn(entry);
  const listsOf = (keys: readonly string[]) => keys.map((key) => filters[key]).filter(isTexts);
  // Gemini CLI ignores what follows a name in brackets; Copilot writes a star for all.
  const only = listsOf(ONLY).map((names) => names.map((name) => name.replace(/\(.*/su, "")));
  const filter = {
    only: only.filter((names) => !names.includes("*")),
    not: listsOf(WITHOUT).flat(),
  };
  return filter.only.length + filter.not.length === 0 ? undefined : filter;
}

/** True if the server's tool is offered. */
export function isAllowed(filter: ToolFilter | undefined, tool: string): boolean {
  const { only = [], not = [] } = filter ?? {};
  return only.every((names) => names.includes(tool)) && !not.includes(tool) && !not.includes("*");
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
