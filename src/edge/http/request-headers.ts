import type { Bounds } from "../../value/path.ts";
import { ByrefError } from "../../errors.ts";
import { parseMediaType } from "../../value/media-type.ts";

export type Etags = "*" | readonly string[];

/**
 * A request's preconditions (RFC 9110, 13.1), as an endpoint parses them. Dates (`If-Modified-Since`,
 * `If-Unmodified-Since`) are ignored: a second can have two writes.
 */
export interface Conditions {
  readonly "If-Match"?: Etags | undefined;
  readonly "If-None-Match"?: Etags | undefined;
}

/**
 * Throws `precondition_failed` unless the conditions allow a write to the state `currentEtag` (undefined:
 * nothing exists). Safe only if nothing else can change the state between this call and the write.
 */
export function requireConditions(
  { "If-Match": wanted, "If-None-Match": unwanted }: Conditions,
  currentEtag: string | undefined,
): void {
  if (wanted !== undefined && !names(wanted, currentEtag))
    throw preconditionFailed("If-Match does not name", currentEtag);
  if (unwanted !== undefined && names(unwanted, currentEtag))
    throw preconditionFailed("If-None-Match rules out", currentEtag);
}

/** True if the reader has the representation with this etag already, so a 304 suffices. */
export function isNotModified({ "If-None-Match": known }: Conditions, etag: string): boolean {
  return known !== undefined && names(known, etag);
}

/** Ours are never weak, but a proxy that compresses sends them so (Cloudflare, nginx): they name the same state. */
function names(etags: Etags, current: string | undefined): boolean {
  if (current === undefined) return false;
  return etags === "*" || etags.some((etag) => etag.replace(/^W\//, "") === current);
}

function preconditionFailed(which: string, etag: string | undefined): ByrefError {
  const message =
    etag === undefined
      ? "There is nothing here; to create it, send If-None-Match: * instead."
      : `The current etag is ${etag}, which ${which}. To change what is there now, read it again and send its etag as If-Match.`;
  return new ByrefError("precondition_failed", message, { etag: etag ?? null });
}

/**
 * The etags of a list, with quotes and `W/`. Throws for a list without etags: its sender intended a guard and would
 * have none. Backslashes do not escape, and characters beyond ASCII are there however the platform has decoded them.
 */
export function etagsIn(header: string, value: string): Etags {
  if (value.trim() === "*") return "*";
  const [start = ""] = LIST_START.exec(value) ?? [];
  const etags = start.match(ETAG);
  const isRead = start.length === value.length;
  if (isRead && etags !== null) return etags;
  const at = isRead ? 0 : start.length;
  const message = `${header} is not readable at character ${at}: send * or quoted etags, e.g. "1-a", W/"2-b".`;
  throw new ByrefError("bad_request", message, { header, at });
}

const ETAG = /(?:W\/)?"[!#-~\u0080-\uffff]*"/g;
/** What is readable of a list. Elements may be empty, as the RFC says. */
const LIST_START = new RegExp(
  `^[\\t ,]*(?:${ETAG.source}(?:[\\t ]*,[\\t ,]*${ETAG.source})*[\\t ,]*)?`,
);

/**
 * Parses a `Range` header for a value of `size` bytes (RFC 9110, 14.1.2). A range is never empty. "whole": respond 200 with the whole
 * value, because there is no header, or one that a server may ignore (several ranges, other units) or must
 * ignore (malformed). "unsatisfiable": respond 416.
 */
export function byteRangeIn(
  header: string | null,
  size: number,
): Bounds | "whole" | "unsatisfiable" {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? "") ?? [];
  if (first === "" && last !== "") {
    const length = Number(last);
    if (length === 0) return "unsatisfiable";
    // An empty value is sent as a whole: no `Content-Range` can describe it.
    return size === 0 ? "whole" : { from: Math.max(size - length, 0), to: size };
  }
  if (first === "") return "whole";
  const from = Number(first);
  if (last !== "" && Number(last) < from) return "whole";
  if (from >= size) return "unsatisfiable";
  return { from, to: last === "" ? size : Math.min(Number(last) + 1, size) };
}

/** The `Content-Range` of a 206, or of a 416 with the size. */
export function contentRange(range: Bounds | "unsatisfiable", size: number): string {
  if (range === "unsatisfiable") return `bytes */${size}`;
  return `bytes ${range.from}-${range.to - 1}/${size}`;
}

/**
 * True if `Range` applies, given `If-Range`; otherwise the response is the whole value. Only the current,
 * strong etag guarantees that the parts fit together; a date never does.
 */
export function appliesRange(ifRange: string | null, etag: string): boolean {
  return ifRange === null || (etag.startsWith('"') && ifRange === etag);
}

/**
 * The offered media type that an `Accept` header prefers: by quality, then an exact type before a range, then
 * the order of the offers (RFC 9110, section 12.5.1). The first offer if none is acceptable. Skips malformed
 * elements. Hono's `accepts` ignores the quality of a range of all types.
 */
export function preferred<Offer extends string>(
  accept: string | null | undefined,
  offers: readonly [Offer, ...Offer[]],
): Offer {
  const qualities = new Map<string, number>();
  for (const element of (accept ?? "").split(",")) {
    const range = parseMediaType(element);
    if (range === undefined || qualities.has(range.essence)) continue;
    qualities.set(range.essence, Number(range.parameters.get("q") ?? 1));
  }
  let [best] = offers;
  let highest = 0;
  for (const offer of offers) {
    const essence = parseMediaType(offer)?.essence ?? offer;
    const ranges = ["*/*", essence.replace(/\/.*/, "/*"), essence];
    const specificity = ranges.findLastIndex((range) => qualities.has(range));
    const quality = qualities.get(ranges[specificity] ?? "") ?? 0;
    // A quality has three decimals.
    const score = quality > 0 ? quality * 10_000 + specificity : 0;
    if (score > highest) [best, highest] = [offer, score];
  }
  return best;
}
