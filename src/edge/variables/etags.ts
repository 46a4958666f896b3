import type { VariableInfo } from "../../store/variable.ts";
import { type Conditions, conditionsIn } from "../http/request-headers.ts";

/**
 * The ETag of a variable: a state, `"2-lw8x"`, and after a dot the representation, `"2-lw8x.ndjson"`. The
 * default representation has no suffix. The state is the value's version and the time of the write, because
 * versions restart after a delete.
 */
export function etagOf(info: Written, representation = ""): string {
  return `"${stateOf(info)}${representation}"`;
}

/** The ETag that guards a PATCH: the state of the value, and the number of metadata changes since. */
export function metadataEtagOf(info: Written, representation = ""): string {
  const { metadataVersion: changes } = info;
  return `"${stateOf(info)}${changes === undefined ? "" : `-${changes}`}${representation}"`;
}

/** The ETag of the metadata as served. A read, and a newer source, change it, but not the ETag that guards a PATCH. */
export function infoEtagOf(info: Written & Pick<VariableInfo, "accessedAt" | "stale">): string {
  const newer = (info.stale?.madeOf ?? []).map(({ now }) => `s${now}`);
  return metadataEtagOf(info, `.${timeIn(info.accessedAt)}${newer.join("")}`);
}

/** Conditions for a write: every representation of a state counts as that state. */
export function guardsIn(headers: Headers): Conditions {
  const { ifMatch, ifNoneMatch } = conditionsIn(headers);
  const stateOf = (etags: string | undefined) => etags?.replace(/\.\w+"/g, '"');
  return { ifMatch: stateOf(ifMatch), ifNoneMatch: stateOf(ifNoneMatch) };
}

type Written = Pick<VariableInfo, "version" | "updatedAt" | "metadataVersion">;

function stateOf({ version, updatedAt }: Written): string {
  return `${version}-${timeIn(updatedAt)}`;
}

function timeIn(iso: string): string {
  return Date.parse(iso).toString(36);
}
