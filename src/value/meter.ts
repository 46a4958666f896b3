import * as limits from "../limits.ts";
import type { Mark } from "./marks.ts";
import { previewOf } from "./preview.ts";

/** What went through a meter. */
export interface Metered {
  readonly about: {
    readonly type: "string" | "array" | "bytes";
    /** Code points, records or bytes. */
    readonly count: number;
    /** As stored. */
    readonly bytes: number;
    /** UTF-16 units of the value's text: of records as a JSON array; of bytes their number. */
    readonly chars: number;
    readonly shape: string;
    readonly preview: string;
  };
  /** None for bytes: any of them can be found without. */
  readonly marks: readonly Mark[];
}

/**
 * Says what is in a stream of bytes as it passes. What it says does not depend on where the stream is cut,
 * and it holds no more than the start of one record (`maxJsonBytes`). Of no use after it threw or ended.
 */
export interface Meter {
  /** What is to be stored for these bytes and held ones; may be a view of them. Throws ByrefError. */
  write(bytes: Uint8Array): Uint8Array;
  /** The last bytes to be stored, and what all of it is. Throws ByrefError. */
  end(): { readonly rest: Uint8Array; readonly metered: Metered };
}

/** So many bytes become text at a time: few enough for one mark, and for one record, to suffice. */
export const PIECE_BYTES = limits.markBytes / 4;

/** Passes bytes through as they are. */
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
