import { isHighSurrogate, isLowSurrogate } from "./json.ts";

/** Length in UTF-8. Cost: linear, no copy. */
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

/** The text that UTF-8 stands for, a byte order mark included; what is no UTF-8 becomes U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
}

/** Base64, made in steps: a call takes only so many arguments. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let from = 0; from < bytes.length; from += BASE64_STEP) {
    text += String.fromCharCode(...bytes.subarray(from, from + BASE64_STEP));
  }
  return btoa(text);
}

const BASE64_STEP = 8_192;
