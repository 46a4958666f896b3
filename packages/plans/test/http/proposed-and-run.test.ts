import { describe, expect, it } from "vitest";
import type { Json } from "../../../../src/value/json.ts";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import { planning, streamed } from "../../../../test/support/planning.ts";

const ROOT = "/conversations/c/plans";
const SET = { _tool: "set_variable", _id: "set", name: "state.x", value: 1 };

function propose(own: OwnRuntime, query: string, plan: Json): Promise<Response> {
  return own.call("POST", `${ROOT}${query}`, json(plan));
}

async function plansIn(own: OwnRuntime): Promise<unknown> {
  const { plans } = await (await own.call("GET", ROOT)).json<{ plans: { status: string }[] }>();
  return plans.map(({ status }) => status);
}

describe("a plan that is proposed with ?run=true", () => {
  it("is approved and run, and streams its run", () =>
    withRuntime(planning({}), async (own) => {
      const response = await propose(own, "?run=true", { calls: [SET] });
      expect(response.status).toBe(200);
      const parts = await streamed(response);
      expect(parts.at(-1)).toMatchObject({ type: "data-run", status: "done", state: { x: 1 } });
      expect(await plansIn(own)).toEqual(["done"]);
    }));

  it("is neither stored nor run if there are findings", () =>
    withRuntime(planning({}), async (own) => {
      const response = await propose(own, "?run=true", { calls: [SET, { _tool: "nope" }] });
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ findings: [{ code: "unknown_tool" }] });
      expect(await plansIn(own)).toEqual([]);
    }));

  it("waits for approval if it needs an input", () =>
    withRuntime(planning({}), async (own) => {
      const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
      const response = await propose(own, "?run=true", { input, calls: [SET] });
      expect([response.status, await plansIn(own)]).toEqual([422, ["proposed"]]);
      expect(await response.json()).toMatchObject({ code: "invalid_plan" });
    }));

  it("is only proposed with ?run=false; other values are refused", () =>
    withRuntime(planning({}), async (own) => {
      expect((await propose(own, "?run=false", { calls: [SET] })).status).toBe(201);
      expect((await propose(own, "?run=yes", { calls: [SET] })).status).toBe(400);
      expect(await plansIn(own)).toEqual(["proposed"]);
    }));
});
