import type { VariableInfo } from "../../store/variable.ts";
import { formatPath, type Path } from "../../value/path.ts";

/** Number of parts before the path, which may contain spaces. */
const PARTS = 5;

/**
 * Identifies a value in an engine: the variable, its version, the path. Runs of plans may have variables of one
 * name, which differ in their calls.
 */
export function tableKey(info: VariableInfo, path: Path): string {
  const { name, version, createdAt, updatedAt, toolCallId = "" } = info;
  const call = encodeURIComponent(toolCallId.toWellFormed());
  return [name, version, createdAt, updatedAt, call, formatPath(path)].join(" ");
}

/** True if the keys are of one variable. */
export function isOfVariable(key: string, name: string): boolean {
  return key.startsWith(`${name} `);
}

/** True if the keys are of two versions of one variable. */
export function isOtherVersion(key: string, other: string): boolean {
  const [name = ""] = key.split(" ");
  return isOfVariable(other, name) && versionIn(key) !== versionIn(other);
}

function versionIn(key: string): string {
  return key.split(" ", PARTS).join(" ");
}
