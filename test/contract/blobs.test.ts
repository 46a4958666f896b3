import { describe, expect, it } from "vitest";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { blobsContract, manyBlobs } from "./blobs.ts";

describe("MemoryBlobs", () => {
  blobsContract(() => new MemoryBlobs());
  manyBlobs(() => new MemoryBlobs());

  it("records every read, found or not", async () => {
    const blobs = new MemoryBlobs();
    await blobs.put("a", Uint8Array.of(1, 2, 3));
    await blobs.read("a", 1, 3);
    await blobs.read("a", 2, 2);
    await expect(blobs.read("b", 0, 1)).rejects.toThrow("b");
    expect(blobs.reads).toEqual([
      { key: "a", from: 1, to: 3 },
      { key: "b", from: 0, to: 1 },
    ]);
  });
});
