import { describe } from "vitest";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { blobsContract, manyBlobs } from "./blobs.ts";

describe("MemoryBlobs", () => {
  blobsContract(() => new MemoryBlobs());
  manyBlobs(() => new MemoryBlobs());
});
