import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { matchName, matchPath, parsePath } from "../../reference/grammar.ts";
import { problemFrom } from "../../reference/reference-problem.ts";
import type { Variables } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { formatPath, type Path } from "../../value/path.ts";
import { missing } from "../store-lookup.ts";

/** A variable, or a place in one. */
export interface Target {
  readonly name: string;
  readonly path: Path;
}

/**
 * Parses a target as models write it: `orders`, `$orders[0].id`, `${orders}`, `†orders` or
 * `variable:orders`, with an optional path. Throws `bad_name` or `bad_path`.
 */
export function targetIn(written: string, path: string | undefined = ""): Target {
  const text = withoutMarks(written.trim());
  const stretch = { text, limit: text.length, ended: true };
  const { end } = matchName(stretch, 0);
  const start = matchPath(stretch, Math.max(end, 0));
  if (end <= 0 || start.end !== text.length) {
    const message = `"${written.slice(0, 80)}" is not the name of a variable. Write letters, digits and _, the first not a digit, then a path if any: name[0].id`;
    throw new ByrefError("bad_name", message);
  }
  const whole = [...start.path, ...pathIn(path.trim())];
  if (JSON.stringify(formatPath(whole)).length > limits.maxHeldChars) {
    const message = `The path is too long: as JSON it may have ${limits.maxHeldChars} characters.`;
    throw new ByrefError("bad_path", message);
  }
  return { name: text.slice(0, end), path: whole };
}

function withoutMarks(text: string): string {
  if (text.startsWith("variable:")) return text.slice("variable:".length);
  if (text.startsWith("${") && text.endsWith("}")) return text.slice(2, -1);
  return text.startsWith("$") || text.startsWith("†") ? text.slice(1) : text;
}

/** Returns only the variable's name; empty if there is none. */
export function nameIn(written: string): string {
  return /^\w*/u.exec(withoutMarks(written.trim()))?.[0] ?? "";
}

/** Accepts a path without its first full stop, or with the `$` of JSONPath, as models write it. */
function pathIn(text: string): Path {
  const isRooted = text.startsWith("$.") || text.startsWith("$[");
  const below = isRooted ? text.slice(1) : text;
  const isWritten = below === "" || below.startsWith(".") || below.startsWith("[");
  const path = parsePath(isWritten ? below : `.${below}`);
  if (path !== undefined) return path;
  const message = `"${text.slice(0, 80)}" is not a path; write e.g. .temp, [0].id or ["a key"].`;
  throw new ByrefError("bad_path", message);
}

/** The target as a reference in a text. */
export function referenceTo(target: Target): string {
  return `$${nameOf(target)}`;
}

/** The target as a tool's `name`. */
export function nameOf({ name, path }: Target): string {
  return `${name}${formatPath(path)}`;
}

/** Returns a variable of any visibility. Throws `variable_not_found` or `variable_evicted`. */
export function existing(store: Variables, name: string): VariableInfo {
  const info = store.info(name);
  if (info !== undefined) return info;
  const why = missing({ name, path: [] }, store);
  const isHelped = why.reason !== "unknown" || (why.near ?? []).length > 0;
  // The names would depend on which calls of the same step have ended: after a crash, on more of them.
  const message = `$${name} is not a variable. Call list_variables.`;
  throw problemFrom(`$${name}`, isHelped ? why : { ...why, message });
}

/** Returns a variable that is not secret. Also throws `variable_secret`. */
export function usable(store: Variables, name: string): VariableInfo {
  const info = existing(store, name);
  if (info.visibility !== "secret") return info;
  throw problemFrom(`$${name}`, { found: false, reason: "secret" });
}

/** Returns a variable whose value the model may see. Also throws `variable_sealed`. */
export function readable(store: Variables, name: string): VariableInfo {
  const info = usable(store, name);
  if (info.visibility === "model") return info;
  const message = `$${name} is sealed: its value is not shown. It can be passed to tools as a reference.`;
  throw new ByrefError("variable_sealed", message);
}
