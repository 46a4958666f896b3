import { ByrefError } from "../../errors.ts";
import type { VariableInfo } from "../../store/variable.ts";
import type { VariableStore } from "../../store/variable-store.ts";

/** The current version of a variable, or an earlier one that is kept. Throws `variable_not_found`. */
export function versionOf(store: VariableStore, info: VariableInfo, version: number) {
  if (version === info.version) return undefined;
  const earlier = store.earlier(info.name, version);
  if (earlier === undefined) {
    const message = `Version ${version} of ${info.name} is not kept; the current one is ${info.version}.`;
    throw new ByrefError("variable_not_found", message);
  }
  const reads: Pick<VariableStore, "open" | "read" | "readPath"> = {
    open: () => earlier.open(),
    read: () => earlier.read(),
    readPath: (_name, path) => earlier.readPath(path),
  };
  return { info: earlier.info, reads };
}
