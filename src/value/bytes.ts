/** Joins the parts. Returns a single non-empty part as it is, and a copy otherwise. */
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

/** Yields views of the bytes, each of `length` bytes except the last. */
export function* piecesOf(bytes: Uint8Array, length: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) {
    yield bytes.subarray(start, start + length);
  }
}

/**
 * Copies the bytes into a new buffer that nothing else can change: `slice` of a Buffer returns a view.
 * Throws a TypeError for other values, which foreign streams may produce.
 */
export function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (!(bytes instanceof Uint8Array)) throw new TypeError("These are no bytes.");
  return new Uint8Array(bytes);
}

/** A stream that pulls its parts on demand. `first`: the result of `next`, if that was called. */
export function streamOf(
  parts: AsyncGenerator<Uint8Array>,
  first?: IteratorResult<Uint8Array>,
): ReadableStream<Uint8Array> {
  let ready = first;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let next = ready ?? (await parts.next());
        ready = undefined;
        while (next.done !== true && next.value.length === 0) next = await parts.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      // Not awaited: what waits for something ends after its wait.
      cancel: () => void parts.return(undefined),
    },
    { highWaterMark: 0 },
  );
}
