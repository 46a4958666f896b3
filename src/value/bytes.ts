/** The parts one after another: the only one that is not empty as it is, or a copy of all. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const full = parts.filter(({ length }) => length > 0);
  const [first] = full;
  if (full.length === 1 && first !== undefined) return first;
  const whole = new Uint8Array(full.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of full) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

/** Views of the bytes, each of `length` bytes but the last. */
export function* piecesOf(bytes: Uint8Array, length: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) {
    yield bytes.subarray(start, start + length);
  }
}

/**
 * The same bytes in a buffer of their own, which nobody else can change: `slice` of a Buffer is a view.
 * Throws a TypeError for what is no bytes, which streams of others may hand out.
 */
export function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (!(bytes instanceof Uint8Array)) throw new TypeError("These are no bytes.");
  return new Uint8Array(bytes);
}
