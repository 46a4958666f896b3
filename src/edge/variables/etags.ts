import type { VariableInfo } from "../../store/variable.ts";
import type { Conditions, Etags } from "../http/request-headers.ts";

/**
 * The ETag of a variable: a state, `"2-lw8x"`, and after a dot the representation, `"2-lw8x.ndjson"`. The
 * default representation has no suffix. The state is the value's version and the time of the write, because
 * versions restart after a delete.
 */
export function etagOf(info: Written, representation = ""): string {
  return `"${stateOf(info)}${representation}"`;
}

/** The ETag that guards a PATCH: the state of the value, and the number of metadata changes since. */
export function metadataEtagOf(info: Written): string {
  const { metadataVersion: changes } = info;
  return `"${stateOf(info)}${changes === undefined ? "" : `-${changes}`}"`;
}

/** Conditions for a write: every representation of a state counts as that state. */
export function guardsIn(conditions: Conditions): Conditions {
  const statesIn = (etags: Etags | undefined) =>
    typeof etags === "object" ? etags.map((etag) => etag.replace(/\.\w+"$/, '"')) : etags;
  return {
    "If-Match": statesIn(conditions["If-Match"]),
    "If-None-Match": statesIn(conditions["If-None-Match"]),
  };
}

type Written = Pick<VariableInfo, "version" | "updatedAt" | "metadataVersion">;

function stateOf({ version, updatedAt }: Written): string {
  return `${version}-${Date.parse(updatedAt).toString(36)}`;
}
