import { joinBytes } from "../../value/bytes.ts";

/** What is read of a body at once. */
const PIECE_BYTES = 65_536;

export interface PieceReader {
  /** Without a value at the end. The piece is overwritten by the next one. */
  read(): Promise<{ readonly value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/**
 * Reads a body into the same memory again and again, with `headBytes` of it free in front of each piece: what
 * is allocated for a long body piece by piece is garbage of 64 MiB before V8 collects it.
 */
export function pieceReader(body: ReadableStream<Uint8Array>, headBytes = 0): PieceReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    return copying(body.getReader(), headBytes);
  }
  let buffer: ArrayBufferLike = new ArrayBuffer(headBytes + PIECE_BYTES);
  return {
    read: async () => {
      const { done, value } = await reader.read(new Uint8Array(buffer, headBytes));
      if (done) return {};
      buffer = value.buffer;
      return { value };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/** For a stream that hands out memory of its own. */
function copying(reader: ReadableStreamDefaultReader<Uint8Array>, headBytes: number): PieceReader {
  return {
    read: async () => {
      const { value } = await reader.read();
      return value === undefined
        ? {}
        : { value: joinBytes([new Uint8Array(headBytes), value]).subarray(headBytes) };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}
