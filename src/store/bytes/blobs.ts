import { ByrefError } from "../../errors.ts";
import type { Bounds } from "../../value/path.ts";

/**
 * Stores values that are too large for rows: in R2, or in memory in tests.
 *
 * A reader sees an object whole, as one `put` or `complete` wrote it, or not at all. A call sees everything
 * that earlier calls wrote. Calls are not isolated from each other: an object may be replaced between two
 * reads, so a caller that reads ranges must give every object its own key. A key has 1 to 1,024 bytes of
 * UTF-8. Errors of the bucket are thrown unchanged, except by `read`, which throws its own. Nothing is
 * retried.
 */
export interface Blobs {
  /** Writes or replaces an object. If it throws, the old object or the new one exists, whole. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Begins an object of unknown length. An existing object under the key remains until `complete`. */
  upload(key: string): Promise<BlobUpload>;
  /**
   * Reads the bytes from `from` up to, but not including, `to`: a copy, whole in memory. Throws
   * `variable_evicted` if the object is missing, `internal` if it ends before `to` or cannot be read. `from === to` returns no bytes, without
   * a request.
   */
  read(key: string, from: number, to: number): Promise<Uint8Array>;
  /** Deletes any number of keys. Missing objects are no error. Not atomic: if it throws, some may be deleted. */
  delete(keys: readonly string[]): Promise<void>;
  /**
   * Lists all keys with the prefix, in no defined order, in memory at once. A key that is added or deleted
   * meanwhile may be included or not.
   */
  list(prefix: string): Promise<readonly string[]>;
}

/**
 * An unfinished object of at most 10,000 parts. Await each call before the next. After a `write` that
 * threw, after `complete` and after `abort` the upload is over: `write` and `complete` throw `internal`.
 */
export interface BlobUpload {
  /**
   * Writes any number of bytes. They are copied or sent before it resolves, so the caller may reuse its
   * buffer. With R2, at most one part (`limits.maxChunkedBytes`) is held. If it throws, the upload is
   * aborted.
   */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Makes the object visible; it is empty if nothing was written. If it throws, the sent parts are
   * abandoned. Whether the object exists is then unknown, because only the response may have been lost.
   */
  complete(): Promise<void>;
  /**
   * Discards the upload and leaves an existing object unchanged. Never throws: if R2 cannot be reached, it
   * removes the parts itself after 7 days. No effect once the upload is over.
   */
  abort(): Promise<void>;
}

/** Creates the error of `read`. */
export function unreadable(key: string, { from, to }: Bounds, reason: string): ByrefError {
  const message = `The bytes from ${from} to ${to} of the object ${key} cannot be read: ${reason}`;
  return new ByrefError("internal", message, { key, from, to });
}

/** Creates the error of `read` for an object that is not there, for example after a recovery. It names no key. */
export function missing(): ByrefError {
  return new ByrefError("variable_evicted", "The bytes of this value are no longer in the bucket.");
}

/** Creates the error for using an upload that is over. */
export function uploadIsOver(key: string): ByrefError {
  return new ByrefError("internal", `The upload of the object ${key} is over.`, { key });
}
