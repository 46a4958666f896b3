import { isHighSurrogate, isLowSurrogate } from "./characters.ts";

const BASE64_STEP = 8_192;

/** Returns the length in UTF-8. Cost: linear. Copies nothing. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x80) continue;
    const isPair = isHighSurrogate(code) && isLowSurrogate(text.charCodeAt(index + 1));
    if (isPair) {
      bytes += 2;
      index++;
    } else bytes += code < 0x800 ? 1 : 2;
  }
  return bytes;
}

/** Decodes UTF-8, including a byte order mark. Invalid bytes become U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
}

/** Returns where bytes stop being UTF-8, from 0. They may begin and end inside of a character. */
export function invalidByteIn(bytes: Uint8Array): number {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let at = 0;
  while (at < 3 && isContinuation(bytes[at])) at++;
  try {
    for (; at < bytes.length; at++) utf8.decode(bytes.subarray(at, at + 1), { stream: true });
  } catch {
    // This byte cannot follow those before it.
  }
  return at;
}

/** True for any byte of a character except its first. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/**
 * Encodes base64 with padding, `+` and `/` (RFC 4648, section 4). In steps, because a call accepts a limited number of
 * arguments.
 */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let from = 0; from < bytes.length; from += BASE64_STEP) {
    const units = bytes.subarray(from, from + BASE64_STEP);
    // `Reflect.apply` takes the bytes as they are. Spreading them would cost an iteration for each.
    text += Reflect.apply(String.fromCharCode, undefined, units as ArrayLike<number>);
  }
  return btoa(text);
}

/** Decodes base64. Throws for other text. */
export function fromBase64(text: string): Uint8Array {
  const units = atob(text);
  const bytes = new Uint8Array(units.length);
  for (let index = 0; index < units.length; index++) bytes[index] = units.charCodeAt(index);
  return bytes;
}

/** Writes bytes as lower-case hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
