import { rmSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { runTurnsChaos } from "../chaos/turns/turns-chaos.ts";
import { temporaryFolder } from "../support/server.ts";
import { sampleStep } from "../support/slow.ts";

const KILLS = sampleStep === 1 ? 25 : 12;

/** `npm run chaos` does the same with more kills. */
describe("a server that is killed in the middle of turns", () => {
  const stateDir = temporaryFolder();

  afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

  it("finishes them on its own, and does nothing twice", async () => {
    const findings = await runTurnsChaos({ kills: KILLS, seed: 20_261_122, stateDir });
    expect(findings.wrong).toEqual([]);
    expect(findings.kills).toBeGreaterThanOrEqual(KILLS);
    expect(findings.resumedMs.length).toBeGreaterThan(KILLS / 5);
  });
});
