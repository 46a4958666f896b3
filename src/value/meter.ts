import * as limits from "../limits.ts";
import type { Mark } from "./marks.ts";
import { previewOf } from "./preview.ts";

/** The result of a meter. */
export interface Metered {
  readonly about: {
    readonly type: "string" | "array" | "bytes";
    /** Code points, records or bytes. */
    readonly count: number;
    /** Size as stored. */
    readonly bytes: number;
    /** UTF-16 units of the value's text: for records, of their JSON array; for bytes, their number. */
    readonly chars: number;
    readonly shape: string;
    readonly preview: string;
  };
  /** Empty for bytes, which can be located without marks. */
  readonly marks: readonly Mark[];
}

/**
 * Measures a stream of bytes as it passes. The result does not depend on the sizes of the chunks. Holds no
 * more than the start of one record (`maxJsonBytes`). Unusable after it threw or ended.
 */
export interface Meter {
  /** Returns the bytes to store for these and for held bytes; may be a view of them. Throws ByrefError. */
  write(bytes: Uint8Array): Uint8Array;
  /** Returns the last bytes to store, and the result. Throws ByrefError. */
  end(): { readonly rest: Uint8Array; readonly metered: Metered };
}

/** Bytes that are decoded at a time: few enough for one mark and one record to be sufficient. */
export const PIECE_BYTES = limits.markBytes / 4;

/** Passes bytes through unchanged. */
export class BytesMeter implements Meter {
  readonly #mediaType: string;
  #bytes = 0;

  constructor(mediaType: string) {
    this.#mediaType = mediaType;
  }

  write(bytes: Uint8Array): Uint8Array {
    this.#bytes += bytes.length;
    return bytes;
  }

  end(): { rest: Uint8Array; metered: Metered } {
    const bytes = this.#bytes;
    const preview = previewOf(`${this.#mediaType}, ${bytes} bytes`);
    const sizes = { count: bytes, bytes, chars: bytes };
    const about = { type: "bytes", ...sizes, shape: "bytes", preview } as const;
    return { rest: new Uint8Array(), metered: { about, marks: [] } };
  }
}
