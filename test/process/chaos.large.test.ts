import { rmSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { runChaos } from "../chaos/chaos.ts";
import { temporaryFolder } from "../support/server.ts";

/** `npm run chaos` repeats this a hundred times. */
describe("a server that is killed under load", () => {
  const stateDir = temporaryFolder();

  afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

  it("keeps every acknowledged write and nothing partial", async () => {
    const report = await runChaos({ kills: 3, seed: 20_261_122, stateDir });
    expect(report.wrong).toEqual([]);
    expect(report.kills).toBe(3);
    expect(report.counts.writes).toBeGreaterThan(3);
  });
});
