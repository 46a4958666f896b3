import type { Meter, Metered } from "./meter.ts";
import { previewOf } from "./preview.ts";

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
