import { isHighSurrogate, isLowSurrogate } from "./characters.ts";

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
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  let [valid, all] = [start, bytes.length];
  while (valid < all) {
    const end = Math.ceil((valid + all) / 2);
    if (isUtf8(bytes.subarray(start, end))) valid = end;
    else all = end - 1;
  }
  return valid;
}

/** True for any byte of a character except its first. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function isUtf8(start: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(start, { stream: true });
    return true;
  } catch {
    return false;
  }
}
