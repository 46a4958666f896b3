import { messageOf } from "../../../src/errors.ts";

/** Splits the message of Durable Objects, `message at offset 7: SQLITE_ERROR`. Offsets are in bytes. */
export function sqliteMessage(error: unknown): { message: string; byte?: number } {
  const text = messageOf(error).replace(/: SQLITE_[A-Z_]+$/, "");
  const [, message = text, byte] = /^([^]*) at offset (\d+)$/.exec(text) ?? [];
  return { message, ...(byte === undefined ? {} : { byte: Number(byte) }) };
}

/** Converts an offset in UTF-8 to one in UTF-16 units. */
export function offsetOf(text: string, byte: number): number {
  const bytes = new TextEncoder().encode(text).subarray(0, byte);
  return new TextDecoder().decode(bytes).length;
}
