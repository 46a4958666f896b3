import { describe, expect, it } from "vitest";
import { streamed } from "./store-content.ts";
import { bytesOf, expectFailure, KIB, MIB } from "./store-fixture.ts";
import { largeBatches } from "./store-large-batches.ts";
import { largeWrites } from "./store-large-writes.ts";
import { openValues } from "./store-open.ts";
import { streams } from "./store-streams.ts";
import type { Testing } from "./store-testing.ts";

/** Values of any size, wherever they are stored. */
export function storeLarge(at: Testing): void {
  describe("where values are stored", () => locations(at));
  describe("streams", () => streams(at));
  describe("values read as bytes", () => openValues(at));
  describe("large writes", () => largeWrites(at));
  describe("prepared writes and batches", () => largeBatches(at));
}

function locations(at: Testing): void {
  it.each([0, 1, 64 * KIB, 64 * KIB + 1, MIB + 1, 8 * MIB, 8 * MIB + 1])(
    "keeps %i bytes with their media type",
    async (size) => {
      const bytes = pseudoRandom(size);
      const content = await at.store.receive(streamed([bytes]).stream, "image/png");
      const info = await at.store.save({ name: "v", value: content, tool: "camera" });
      const location = size <= 64 * KIB ? "row" : at.kind.hasBucket ? "r2" : "chunks";
      const said = { type: "bytes", shape: "bytes", mediaType: "image/png", location };
      expect(info).toMatchObject({ ...said, bytes: size, count: size, chars: size });
      expect(info.preview).toBe(`image/png, ${size} bytes`);
      at.store.forget();
      expect(at.store.info("v")).toEqual(info);
      await expectFailure(() => at.store.read("v"), "bad_value");
      await expectFailure(() => at.store.readPath("v", [{ index: 0 }]), "bad_value");
      const read = await bytesOf(at.store, "v");
      expect(Buffer.compare(read, bytes)).toBe(0);
      // A reader that changes its bytes does not change the value.
      read.fill(7);
      expect(Buffer.compare(await bytesOf(at.store, "v"), bytes)).toBe(0);
      await at.ground.expectClean(at.store);
    },
  );
}

function pseudoRandom(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let state = size + 1;
  for (let index = 0; index < size; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}
