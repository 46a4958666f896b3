/** Bytes from `from` up to and without `to`; never empty. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * What a `Range` header asks of a value of `size` bytes (RFC 9110, 14.1.2). "whole" is a 200 with all
 * of it: there is no header, or one that a server may ignore (several ranges, other units) or must
 * (malformed). "unsatisfiable" is a 416.
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

/** The last bytes. Of an empty value they are all of it, which no `Content-Range` could say. */
function suffixOf(length: number, size: number): ByteRange | "whole" | "unsatisfiable" {
  if (length === 0) return "unsatisfiable";
  return size === 0 ? "whole" : { from: Math.max(size - length, 0), to: size };
}

/** Compares digits: numbers beyond 2^53 may round to one, and BigInt is slow to read a long header. */
function isBackwards(first: string, last: string): boolean {
  const [low, high] = [first.replace(/^0+/, ""), last.replace(/^0+/, "")];
  return low.length === high.length ? high < low : high.length < low.length;
}

/** The `Content-Range` of a 206, or of the 416 that tells the size. */
export function contentRange(range: ByteRange | "unsatisfiable", size: number): string {
  if (range === "unsatisfiable") return `bytes */${size}`;
  return `bytes ${range.from}-${range.to - 1}/${size}`;
}

/**
 * Whether `Range` counts, given `If-Range`; if not, the answer is the whole value. Only the current
 * etag, and a strong one, vouches that the parts fit together; a date never does.
 */
export function appliesRange(ifRange: string | null, etag: string): boolean {
  return ifRange === null || (etag.startsWith('"') && ifRange === etag);
}
