import { describe, it } from "vitest";
import { expectFinished, usePlanKills } from "../support/killed-plans.ts";

describe("a plan in whose middle the server is killed", () => {
  const kills = usePlanKills();

  it("is finished afterwards, with nobody asking, and nothing is paid twice", async () => {
    await expectFinished(kills(), "c", [
      { call: "c2", stage: "done" },
      { call: "c7", stage: "asked" },
      { call: "c10", stage: "answered" },
    ]);
  });
});
