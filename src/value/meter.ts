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
  /** Throws ByrefError. */
  write(bytes: Uint8Array): void;
  /** Throws ByrefError. */
  end(): Metered;
}

/** Bytes that are decoded at a time: few enough for one mark and one record to be sufficient. */
export const PIECE_BYTES = limits.markBytes / 4;

/** Measures bytes without a format. */
export class BytesMeter implements Meter {
  readonly #mediaType: string;
  #bytes = 0;

  constructor(mediaType: string) {
    this.#mediaType = mediaType;
  }

  write(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
  }

  end(): Metered {
    const bytes = this.#bytes;
    const preview = previewOf(`${this.#mediaType}, ${bytes} bytes`);
    const sizes = { count: bytes, bytes, chars: bytes };
    return { about: { type: "bytes", ...sizes, shape: "bytes", preview }, marks: [] };
  }
}
