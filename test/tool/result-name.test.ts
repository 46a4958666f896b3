import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Json } from "../../src/value/json.ts";
import { runOnce, storeWith } from "../support/wrapped.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";

describe("the name of a result", () => {
  const echo = tool({ inputSchema: z.any(), execute: (input: Json) => input });

  async function namesOf(inputs: readonly Json[], options: Partial<WrapOptions> = {}) {
    const store = options.store ?? (await storeWith({ nyc: "NYC", n: 1 }));
    const infos = [];
    for (const input of inputs)
      infos.push((await runOnce(echo, input, { ...options, store })).saved);
    return infos.map((saved) => `${saved?.info?.name} v${saved?.info?.version}`);
  }

  it("is the same for the same call, however it is written, with a new version", async () => {
    const inputs = [
      { city: "NYC", n: 1 },
      { n: 1, city: "NYC" },
      { city: "$nyc", n: "$n" },
      { city: "nyc", n: 1 },
      { city: "NYC", n: 2 },
      { city: "NYC", n: 1 },
    ];
    expect((await namesOf(inputs)).join(", ")).toBe(
      "act_nyc v1, act_nyc v2, act_nyc v3, act_nyc_2 v1, act_nyc_3 v1, act_nyc v4",
    );
  });

  it.each([
    ["", "variable v1"],
    ["HOME", "var_HOME v1"],
    ["7up", "var_7up v1"],
    ["x".repeat(100), `${"x".repeat(52)} v1`],
  ])("is valid whatever the function returns: %j", async (said, name) => {
    expect(await namesOf([{}], { naming: () => said })).toEqual([name]);
  });
});
