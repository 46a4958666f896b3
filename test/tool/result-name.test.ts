import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import { wrapTool } from "../../src/tool/wrap-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { run, runOnce, storeWith } from "../support/wrapped.ts";
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

  it("consists of the tool and its most telling argument, resolved", async () => {
    const inputs = [{ city: "Rome" }, { city: "$nyc" }, { max: 3 }, { max: 4 }];
    expect(await namesOf(inputs)).toEqual(["act_rome v1", "act_nyc v1", "act_1 v1", "act_2 v1"]);
  });

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

  it("is made from what a naming function returns", async () => {
    const asked: unknown[] = [];
    const naming: WrapOptions["naming"] = (...args) => {
      asked.push(args);
      return "Weather: $nyc!";
    };
    const names = await namesOf([{ city: "$nyc" }, { city: "$nyc" }, { city: "x" }], { naming });
    expect(names).toEqual(["Weather_nyc v1", "Weather_nyc v2", "Weather_nyc_2 v1"]);
    expect(asked[0]).toEqual(["act", { city: "NYC" }, { city: "NYC" }]);
  });

  it.each([
    ["", "variable v1"],
    ["HOME", "var_HOME v1"],
    ["7up", "var_7up v1"],
    ["x".repeat(100), `${"x".repeat(52)} v1`],
  ])("is valid whatever the function returns: %j", async (said, name) => {
    expect(await namesOf([{}], { naming: () => said })).toEqual([name]);
  });

  it("is stored with the details of the call", async () => {
    const { saved, store } = await runOnce(
      tool({ inputSchema: z.any(), execute: () => ({ at: new Date(0) }) }),
      { city: "$nyc" },
      { store: await storeWith({ nyc: "NYC" }) },
    );
    expect(saved?.info).toMatchObject({
      name: "act_nyc",
      tool: "act",
      toolCallId: "call_1",
      input: { city: "$nyc" },
      description: "Dates became ISO strings.",
    });
    expect(store.info("act_nyc")).toEqual(saved?.info);
  });

  it("is not taken before the result is saved, or if the store refuses", async () => {
    const store = new MemoryStore();
    const wrapped = await wrapTool("act", echo, { store });
    const ran = await run(wrapped, { id: "a" });
    expect(store.count()).toBe(0);
    const full: VariableStore = Object.assign(new MemoryStore(), {
      prepareAll: () => {
        throw new Error("Full.");
      },
    });
    const refused = await run(await wrapTool("act", echo, { store: full }), {});
    const saving = async () => refused.kind === "done" && refused.save();
    await expect(saving()).rejects.toThrow("Full.");
    if (ran.kind === "done") await ran.save();
    expect(store.count()).toBe(1);
  });
});
