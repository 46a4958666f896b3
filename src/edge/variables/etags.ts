import type { VariableInfo } from "../../store/variable.ts";
import type { Conditions } from "../http/conditions.ts";

/**
 * An ETag of a variable names a state, `"2-lw8x"`, and behind a dot the representation, `"2-lw8x.ndjson"`;
 * the representation that is served by default has none. The state is the value's version and the time when
 * it was written, because versions begin anew after a delete.
 */
export function etagOf(info: Written, representation = ""): string {
  return `"${stateOf(info)}${representation}"`;
}

/** What a PATCH changes: the state of the value, and how often its metadata has changed since. */
export function metadataEtagOf(info: Written, representation = ""): string {
  const { metadataVersion: changes } = info;
  return `"${stateOf(info)}${changes === undefined ? "" : `-${changes}`}${representation}"`;
}

/** The ETag of the metadata as they are served. Reading a value changes them, but not what a PATCH guards. */
export function infoEtagOf(info: Written & Pick<VariableInfo, "accessedAt">): string {
  return metadataEtagOf(info, `.${timeIn(info.accessedAt)}`);
}

/** Conditions for a write: every representation of a state stands for that state. */
export function guardsIn({ ifMatch, ifNoneMatch }: Conditions): Conditions {
  return {
    ifMatch: withoutRepresentations(ifMatch),
    ifNoneMatch: withoutRepresentations(ifNoneMatch),
  };
}

type Written = Pick<VariableInfo, "version" | "updatedAt" | "metadataVersion">;

function stateOf({ version, updatedAt }: Written): string {
  return `${version}-${timeIn(updatedAt)}`;
}

function timeIn(iso: string): string {
  return Date.parse(iso).toString(36);
}

function withoutRepresentations(etags: string | undefined): string | undefined {
  return etags?.replace(/\.\w+"/g, '"');
}
