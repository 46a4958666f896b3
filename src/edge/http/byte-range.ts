/** The bytes from `from` to before `to`; never empty. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Parses a `Range` header for a value of `size` bytes (RFC 9110, 14.1.2). "whole": respond 200 with the whole
 * value, because there is no header, or one that a server may ignore (several ranges, other units) or must
 * ignore (malformed). "unsatisfiable": respond 416.
 */
export function byteRangeIn(
  header: string | null,
  size: number,
): ByteRange | "whole" | "unsatisfiable" {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? "") ?? [];
  if (first === "") return last === "" ? "whole" : suffixOf(Number(last), size);
  if (last !== "" && isBackwards(first, last)) return "whole";
  const from = Number(first);
  if (from >= size) return "unsatisfiable";
  return { from, to: last === "" ? size : Math.min(Number(last) + 1, size) };
}

/** The range of the last bytes. An empty value is sent as a whole: no `Content-Range` can describe it. */
function suffixOf(length: number, size: number): ByteRange | "whole" | "unsatisfiable" {
  if (length === 0) return "unsatisfiable";
  return size === 0 ? "whole" : { from: Math.max(size - length, 0), to: size };
}

/** Compares digits: numbers beyond 2^53 may round to the same number, and BigInt is slow for a long header. */
function isBackwards(first: string, last: string): boolean {
  const [low, high] = [first.replace(/^0+/, ""), last.replace(/^0+/, "")];
  return low.length === high.length ? high < low : high.length < low.length;
}

/** The `Content-Range` of a 206, or of a 416 with the size. */
export function contentRange(range: ByteRange | "unsatisfiable", size: number): string {
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
