import type { ModelMessage } from "ai";
import * as limits from "../../limits.ts";
import type { VariableStore } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import type { Taint } from "../../store/labels.ts";
import { guardedView } from "../../tool/tool-output.ts";
import { clip } from "../../value/characters.ts";

/** Opens the part of a prompt that lists the variables. */
export const VARIABLES_TAG = "<variables>";

interface ListOptions {
  readonly store: VariableStore;
  /** Of the model that reads the list. */
  readonly taint: Taint;
  readonly hidesUntrusted: boolean;
}

/**
 * The messages with the list of variables behind them: last, because it changes with every step and what
 * stands in front of it should stay the same for the provider's cache.
 */
export function withVariables(
  messages: readonly ModelMessage[],
  { store, taint, hidesUntrusted }: ListOptions,
): ModelMessage[] {
  const { shown, total } = listed(store);
  if (total === 0) return [...messages];
  // The keys in a shape are somebody's words too.
  const isDoubted = shown.some(({ trusted, visibility }) => !trusted && visibility === "model");
  if (isDoubted && !hidesUntrusted) taint.add();
  const more = total - shown.length;
  const lines = [
    VARIABLES_TAG,
    ...(more > 0 ? [`(${more} older variables are not listed)`] : []),
    ...shown.map((info) => variableLine(info, hidesUntrusted)),
    "</variables>",
  ];
  return [...messages, { role: "user", content: lines.join("\n") }];
}

/** The newest variables of the conversation. Those of a plan's run are nothing to a model. */
function listed(store: VariableStore) {
  const last = limits.maxListedVariables;
  if (store.runs().length === 0) return { shown: store.list({ last }), total: store.count() };
  const lasting = store.list().filter(({ scope }) => scope !== "run");
  return { shown: lasting.slice(-last), total: lasting.length };
}

/** Is there a variable that a model is told of? */
export function hasListed(store: VariableStore): boolean {
  const isAny = store.count() > 0;
  return isAny && (store.runs().length === 0 || listed(store).total > 0);
}

function variableLine(info: VariableInfo, hidesUntrusted: boolean): string {
  const { name, type, count, shape, description, trusted } = info;
  const guarded = guardedView(info);
  if (guarded !== undefined && guarded.type === undefined) return `$${name}: ${guarded.visibility}`;
  const size = type === "array" || type === "object" || type === "string" ? ` (${count})` : "";
  if (guarded !== undefined) return `$${name}: ${type}${size} sealed`;
  if (!trusted && hidesUntrusted) return `$${name}: ${type}${size} hidden, untrusted`;
  const about = description === undefined ? "" : ` // ${description}`;
  return `$${name}: ${type}${size} ${clip(shape, limits.maxListedShapeChars)}${about}`;
}
