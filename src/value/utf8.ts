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
