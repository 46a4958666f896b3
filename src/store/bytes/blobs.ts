import { ByrefError } from "../../errors.ts";

/**
 * Where values lie that are too large for rows: R2, or memory in tests.
 *
 * A reader sees an object whole, as one `put` or `complete` made it, or not at all; what a call
 * wrote is seen by every call after it. Nothing holds two calls together: between two reads an
 * object may be replaced, so whoever reads in ranges gives every object a key of its own.
 * A key has 1 to 1,024 bytes of UTF-8. Failures of the bucket itself are thrown as they come, by
 * `read` as its own error; nothing is tried twice.
 */
export interface Blobs {
  /** Replaces what is there. If it throws, the old object or the new one is there, whole. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** An object whose length is not known yet. What is under the key stays until `complete`. */
  upload(key: string): Promise<BlobUpload>;
  /**
   * The bytes from `from` to before `to`, a copy, in memory whole. Throws `internal` if the object is
   * missing, ends before `to`, or cannot be read. `from === to` gives no bytes, and asks nobody.
   */
  read(key: string, from: number, to: number): Promise<Uint8Array>;
  /** Any number of keys; absent ones are no error. Not atomic: if it throws, some may be gone. */
  delete(keys: readonly string[]): Promise<void>;
  /**
   * All keys that start so, in no promised order, in memory at once. One that comes or goes meanwhile
   * may be among them or not.
   */
  list(prefix: string): Promise<readonly string[]>;
}

/**
 * One object in the making, of 10,000 parts at most. One call at a time: each is awaited before the
 * next. After a `write` that threw, after `complete` and after `abort` it is over: `write` and
 * `complete` throw `internal`.
 */
export interface BlobUpload {
  /**
   * Bytes of any number, copied or sent before it resolves: the caller may use its buffer again. Over
   * R2 one part (`limits.uploadPartBytes`) is held at most. If it throws, the upload is aborted.
   */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Makes the object visible, an empty one if nothing was written. If it throws, what was sent is
   * given up; whether the object is there is not known, as the answer alone may have been lost.
   */
  complete(): Promise<void>;
  /**
   * Leaves nothing behind, and the object under the key as it was. Never throws: parts of an upload
   * that R2 cannot be told about are removed by R2 itself, after 7 days. Once over, does nothing.
   */
  abort(): Promise<void>;
}

/** In bytes; `to` is not among them. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** The error of `read`. */
export function unreadable(key: string, { from, to }: ByteRange, reason: string): ByrefError {
  const message = `The bytes from ${from} to ${to} of the object ${key} cannot be read: ${reason}`;
  return new ByrefError("internal", message, { key, from, to });
}

/** The error of an upload that is used when it is over. */
export function uploadIsOver(key: string): ByrefError {
  return new ByrefError("internal", `The upload of the object ${key} is over.`, { key });
}
