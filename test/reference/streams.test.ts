import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { expandText } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";

const size = limits.maxPieceChars;
const lookup = lookupIn({ temp: 72, most: "x".repeat(size - 1), two: "x".repeat(2 * size) });

/** Opens an expanding stream with a writer and a reader. */
function opened(known: Lookup = lookup) {
  const { readable, writable } = expandText(known, { inUrls: true });
  return { reader: readable.getReader(), writer: writable.getWriter() };
}

/** True if the promise is settled once all pending work has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => void (settled = true);
  promise.then(settle, settle);
  await new Promise(setImmediate);
  return settled;
}

describe("a stream of text", () => {
  it("accepts nothing more while a slice is unread", async () => {
    const { reader, writer } = opened();
    expect(await isSettled(writer.write("${most}y"))).toBe(true);
    const writing = writer.write("z");
    expect(await isSettled(writing)).toBe(false);
    expect((await reader.read()).value).toBe("x".repeat(size - 1));
    await writing;
    expect((await reader.read()).value).toBe("y");
    expect((await reader.read()).value).toBe("z");
  });

  it("is emitted in slices that split no surrogate pair, one for each read", async () => {
    const { reader, writer } = opened();
    await writer.write("$two!");
    for (const chars of [size, size, 1]) {
      expect((await reader.read()).value).toHaveLength(chars);
    }
    const pairs = "😀".repeat(size / 2);
    const odd = opened(lookupIn({ odd: `a${pairs}` }));
    await odd.writer.write("$odd");
    await Promise.all([
      odd.writer.close(),
      expect(odd.reader.read()).resolves.toMatchObject({ value: `a${pairs.slice(0, -2)}` }),
    ]);
    expect((await odd.reader.read()).value).toBe("😀");
  });

  it("fails on both sides with the lookup's error", async () => {
    const gone = new Error("The storage is away.");
    const throwing: readonly Lookup[] = [
      () => {
        throw gone;
      },
      () => Promise.reject(gone),
    ];
    for (const known of throwing) {
      const writes = opened(known);
      const writing = writes.writer.write("a $temp b");
      await expect(writing).rejects.toBe(gone);
      // The text before the reference may have been emitted if a read was pending.
      await expect(writes.reader.read()).rejects.toBe(gone);
      const closes = opened(known);
      await closes.writer.write("$temp");
      await expect(closes.writer.close()).rejects.toBe(gone);
      await expect(closes.reader.read()).rejects.toBe(gone);
    }
  });

  it("waits for an asynchronous lookup", async () => {
    const { reader, writer } = opened(async (reference) => lookup(reference));
    await writer.write("$temp $most!");
    expect((await reader.read()).value).toBe("72");
    expect((await reader.read()).value).toBe(" ");
    expect((await reader.read()).value).toHaveLength(size - 1);
  });

  it("accepts nothing after its reader has cancelled, and says why", async () => {
    const reason = new Error("The client has gone.");
    const { reader, writer } = opened();
    await reader.cancel(reason);
    await expect(writer.write("a")).rejects.toBe(reason);
    const full = opened();
    await full.writer.write("$two!");
    const writing = full.writer.write("more");
    expect(await isSettled(writing)).toBe(false);
    await full.reader.cancel(reason);
    await expect(writing).rejects.toBe(reason);
  });
});
