import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import { PlanKills } from "../chaos/plans/plan-kills.ts";
import { expectFinished } from "../support/killed-plans.ts";
import { temporaryFolder } from "../support/server.ts";

describe("a plan in whose middle the server is killed", () => {
  const stateDir = temporaryFolder();
  let kills: PlanKills;

  beforeAll(async () => {
    kills = await PlanKills.open(stateDir);
  });

  afterAll(async () => {
    await kills.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  it("is finished afterwards, with nobody asking, and nothing is paid twice", async () => {
    await expectFinished(kills, "c", [
      { call: "c2", stage: "done" },
      { call: "c7", stage: "asked" },
      { call: "c10", stage: "answered" },
    ]);
  });
});
