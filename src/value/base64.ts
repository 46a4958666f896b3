/** Native methods of newer engines, many times as fast. */
interface Base64Bytes extends Uint8Array {
  toBase64?(): string;
}

interface Base64Reader {
  fromBase64?(text: string): Uint8Array;
}

/** Encodes base64 with padding, `+` and `/` (RFC 4648, section 4). */
export function toBase64(bytes: Base64Bytes): string {
  return bytes.toBase64?.() ?? encodedBase64(bytes);
}

/** In steps, because a call accepts a limited number of arguments. */
function encodedBase64(bytes: Uint8Array): string {
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
  // The method exists in newer engines only.
  const { fromBase64: native } = Uint8Array as Base64Reader;
  return native === undefined ? decodedBase64(text) : Reflect.apply(native, Uint8Array, [text]);
}

function decodedBase64(text: string): Uint8Array {
  const units = atob(text);
  const bytes = new Uint8Array(units.length);
  for (let index = 0; index < units.length; index++) bytes[index] = units.charCodeAt(index);
  return bytes;
}

const BASE64_STEP = 8_192;
