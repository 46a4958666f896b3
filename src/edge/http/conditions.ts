import { ByrefError } from "../../errors.ts";

/** What a request expects to be there (RFC 9110, 13.1); header values as they came, unread. */
export type Conditions = {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
};

type Etags = "*" | readonly string[];

/** Dates (`If-Modified-Since`, `If-Unmodified-Since`) are not looked at: a second can hold two writes. */
export function conditionsIn(headers: Headers): Conditions {
  return {
    ifMatch: headers.get("if-match") ?? undefined,
    ifNoneMatch: headers.get("if-none-match") ?? undefined,
  };
}

/** Throws `bad_request` for a condition that cannot be read: to be asked where headers come as they were sent. */
export function requireReadable({ ifMatch, ifNoneMatch }: Conditions): void {
  etagsIn("If-Match", ifMatch);
  etagsIn("If-None-Match", ifNoneMatch);
}

/**
 * Throws `precondition_failed` unless a write may go on: for one that finds `currentEtag` there, or
 * nothing if that is undefined. Throws `bad_request` for a condition that cannot be read, even
 * where another one fails. Guards only what no one else can change between this call and the write.
 */
export function requireConditions(conditions: Conditions, currentEtag: string | undefined): void {
  const wanted = etagsIn("If-Match", conditions.ifMatch);
  const unwanted = etagsIn("If-None-Match", conditions.ifNoneMatch);
  if (wanted !== undefined && !hasStrong(wanted, currentEtag)) {
    throw preconditionFailed("If-Match", currentEtag);
  }
  if (unwanted !== undefined && hasWeak(unwanted, currentEtag)) {
    throw preconditionFailed("If-None-Match", currentEtag);
  }
}

/** Whether a reader has what carries this etag already, so that a 304 will do; throws `bad_request`. */
export function isNotModified(conditions: Conditions, etag: string): boolean {
  const known = etagsIn("If-None-Match", conditions.ifNoneMatch);
  return known !== undefined && hasWeak(known, etag);
}

/** A weak etag stands for values that are alike, not the same: nothing is overwritten on its word. */
function hasStrong(etags: Etags, current: string | undefined): boolean {
  if (current === undefined) return false;
  return etags === "*" || (!current.startsWith("W/") && etags.includes(current));
}

function hasWeak(etags: Etags, current: string | undefined): boolean {
  if (current === undefined) return false;
  return etags === "*" || etags.some((etag) => opaqueOf(etag) === opaqueOf(current));
}

function opaqueOf(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : etag;
}

function preconditionFailed(header: string, etag: string | undefined): ByrefError {
  const details = { etag: etag ?? null };
  return new ByrefError("precondition_failed", messageFor(header, etag), details);
}

function messageFor(header: string, etag: string | undefined): string {
  if (etag === undefined) {
    return "There is nothing here, and If-Match needs something; to create it, send If-None-Match: * instead.";
  }
  const advice = "To change what is there now, read it again and send its etag as If-Match.";
  return header === "If-Match"
    ? `The current etag is ${etag}, which If-Match does not name. ${advice}`
    : `The current etag is ${etag}, which If-None-Match rules out. ${advice}`;
}

/**
 * The etags of a list, quotes and `W/` included. Empty elements are passed over, as the RFC asks; a
 * list of nothing else is refused, since whoever sent it meant a guard and would have none.
 */
function etagsIn(header: string, value: string | undefined): Etags | undefined {
  if (value === undefined) return undefined;
  if (value.trim() === "*") return "*";
  const etags: string[] = [];
  let isSeparated = true;
  let at = 0;
  while (at < value.length) {
    const char = value.charAt(at);
    if (char === "," || char === " " || char === "\t") {
      isSeparated ||= char === ",";
      at += 1;
      continue;
    }
    const end = isSeparated ? endOfEtag(value, at) : -1;
    if (end < 0) throw malformed(header, at);
    etags.push(value.slice(at, end));
    isSeparated = false;
    at = end;
  }
  if (etags.length === 0) throw malformed(header, 0);
  return etags;
}

/** The index after the closing quote, -1 where no etag starts. A backslash escapes nothing. */
function endOfEtag(value: string, start: number): number {
  const open = value.startsWith("W/", start) ? start + 2 : start;
  if (value[open] !== '"') return -1;
  for (let at = open + 1; at < value.length; at += 1) {
    if (value[at] === '"') return at + 1;
    if (!isEtagCode(value.charCodeAt(at))) return -1;
  }
  return -1;
}

/** Visible characters, and those beyond ASCII in whichever way the platform has decoded them. */
function isEtagCode(code: number): boolean {
  return code > 0x20 && code !== 0x7f;
}

function malformed(header: string, at: number): ByrefError {
  const message = `${header} is not readable at character ${at}: send * or etags in their quotes, as in "1-a", W/"2-b".`;
  return new ByrefError("bad_request", message, { header, at });
}
