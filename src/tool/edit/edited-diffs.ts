import * as limits from "../../limits.ts";
import type { VariableStore } from "../../store/variables.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { visibleText } from "../../value/characters.ts";
import { isJsonObject, type Json } from "../../value/json.ts";
import { diffOf } from "../../value/line-diff.ts";
import { formatPath, readPath } from "../../value/path.ts";
import type { VariableDiff } from "../policy.ts";
import { type Target, targetIn } from "../variables/variable-target.ts";

/**
 * Compares the edited ones among the variables with the value before all edits that are known: the variable
 * that `edit_variable` read, and the oldest version of it that is kept. Reads at most `MAX_DIFFS` of them.
 * Others, and bytes, are left out.
 */
export async function diffsOfEdited(
  names: Iterable<string>,
  store: VariableStore,
): Promise<readonly VariableDiff[]> {
  const diffs: VariableDiff[] = [];
  for (const name of names) {
    const info = store.info(name);
    if (info === undefined || info.type === "bytes") continue;
    const origin = originOf(info, store);
    if (origin === undefined) continue;
    if (diffs.length === MAX_DIFFS) break;
    diffs.push({ name, version: info.version, ...(await compared(info, origin, store)) });
  }
  return diffs;
}

/** Variables of one call that are compared. */
const MAX_DIFFS = 8;
/** Size of each value up to which it is compared: its lines are in memory. */
const MAX_COMPARED_BYTES = 4_194_304;

/** A variable's version, and the place in it that was edited. */
interface Origin extends Pick<Target, "path"> {
  readonly info: VariableInfo;
}

/**
 * Returns the original of an edited variable. Undefined if the variable was not edited; `gone` if the original is
 * unknown.
 */
function originOf(edited: VariableInfo, store: VariableStore): Origin | "gone" | undefined {
  const chain: Origin[] = [];
  const names = new Set<string>();
  let next: Origin | undefined = { info: edited, path: [] };
  while (next !== undefined) {
    chain.push(next);
    // Variables can be edited from each other, in a circle.
    if (names.has(next.info.name)) break;
    names.add(next.info.name);
    const from = sourceOf(next.info);
    if (from === "unknown") return "gone";
    if (from === undefined) break;
    const info = store.info(from.name);
    if (info === undefined) return "gone";
    next = { info, path: [...from.path, ...next.path] };
  }
  for (const origin of chain.toReversed()) {
    const { name, version } = origin.info;
    const versions = store.earlierVersions(name);
    const oldest = versions.find((one) => !one.isUndone && one.version < version);
    const info = oldest && store.earlier(name, oldest.version)?.info;
    if (info !== undefined) return { ...origin, info };
    if (name !== edited.name) return origin;
  }
  return undefined;
}

/**
 * Returns the source from which `edit_variable` created the variable. Undefined if it changed only a part, or did
 * not create it.
 */
function sourceOf({ name, tool, input }: VariableInfo): Target | "unknown" | undefined {
  if (tool !== "edit_variable") return undefined;
  // Inputs of other versions, and of imports, may have any form.
  if (!isJsonObject(input ?? null)) return "unknown";
  try {
    const { name: from, saveAs } = input as { name?: Json; saveAs?: Json };
    if (typeof from !== "string" || typeof saveAs !== "string") return "unknown";
    const place = targetIn(saveAs);
    return place.name === name && place.path.length === 0 ? targetIn(from) : undefined;
  } catch {
    return "unknown";
  }
}

async function compared(
  edited: VariableInfo,
  origin: Origin | "gone",
  store: VariableStore,
): Promise<Omit<VariableDiff, "name" | "version">> {
  if (origin === "gone") return { withheld: "gone" };
  const { info, path } = origin;
  const from = { name: `${info.name}${formatPath(path)}`, version: info.version };
  const both = [info, edited];
  if (both.some(({ visibility }) => visibility !== "model")) return { from, withheld: "sealed" };
  if (both.some(({ bytes }) => bytes > MAX_COMPARED_BYTES)) {
    return { from, withheld: "too_large" };
  }
  const value = await valueOf(info, store);
  const before = value === undefined ? undefined : readPath(value, path);
  const after = await valueOf(edited, store);
  if (before?.found !== true || after === undefined) return { withheld: "gone" };
  const made = diffOf(textOf(before.value), textOf(after), limits.maxDiffLines);
  return { from, ...made, diff: visibleText(made.diff) };
}

/** Undefined if this version is not there any more. */
async function valueOf({ name, version, type }: VariableInfo, store: VariableStore) {
  if (type === "bytes") return undefined;
  const isCurrent = () => store.glance(name)?.version === version;
  if (!isCurrent()) return store.earlier(name, version)?.read();
  const value = await store.read(name);
  return isCurrent() ? value : undefined;
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : `${JSON.stringify(value, null, 2)}\n`;
}
