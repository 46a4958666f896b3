import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, it } from "vitest";
import { calls, PlanKills, stages } from "../chaos/plans/plan-kills.ts";
import { expectFinished } from "../support/killed-plans.ts";
import { temporaryFolder } from "../support/server.ts";

const all = calls.flatMap(({ call }) => stages.map((stage) => ({ call, stage })));

describe("a plan of ten calls", () => {
  const stateDir = temporaryFolder();
  let kills: PlanKills;

  beforeAll(async () => {
    kills = await PlanKills.open(stateDir);
  });

  afterAll(async () => {
    await kills.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  it.each(all)("is finished when the server is killed where $call is $stage", async (kill) => {
    await expectFinished(kills, `${kill.call}_${kill.stage}`, [kill]);
  });
});
