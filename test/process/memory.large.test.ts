import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { MAX_COUNTED_BYTES, runMemoryProcess } from "../support/memory-process.ts";
import { temporaryFolder } from "../support/server.ts";

// `npm run bench -- memory` prints all figures, for four times as much data.
it("fills and uses a conversation of 250 MB in the memory of one isolate", async () => {
  const folder = temporaryFolder();
  try {
    const filled = await runMemoryProcess("fill", folder, "medium");
    const used = await runMemoryProcess("use", folder, "medium");
    const measured = [...filled, ...used];
    expect(measured.length).toBeGreaterThan(20);
    expect(measured.filter(({ peakBytes }) => peakBytes > MAX_COUNTED_BYTES)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
