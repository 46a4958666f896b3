import { expect, it } from "vitest";
import * as z from "zod";
import { planSupport } from "../../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../../packages/transfer/src/transfers.ts";
import { finish, scriptedModel, toolCall } from "../../../packages/testing/src/testing.ts";
import { canonicalJson, type Json } from "../../../src/value/json.ts";
import { json } from "../../support/edge.ts";
import { NodeRuntime } from "../../support/node-runtime.ts";
import { linesIn } from "../../support/transfer.ts";
import { toolOf } from "../../support/tool-of.ts";

it("a fork has all parts of a message, media types of any length, and keys named __proto__", async () => {
  const shot = toolOf({ of: z.unknown(), type: z.string().default("") }, ({ type }) => ({
    bytes: new Uint8Array([1]),
    mediaType: type,
  }));
  const picture = { mediaType: "image/png", data: { type: "data", data: "aGk=" } } as const;
  const model = scriptedModel([
    [
      { type: "reasoning-file", ...picture },
      { type: "custom", kind: "a.b" },
      toolCall("shot", { of: "$__proto__" }, { id: "one" }),
      toolCall("shot", { of: 1, type: `x/${"y".repeat(999)}` }, { id: "two" }),
      finish("tool-calls"),
    ],
    "Done.",
  ]);
  const agents = [{ name: "a", description: "", instructions: "", tools: { shot } }] as const;
  const runtime = new NodeRuntime({ agents, model, plans: planSupport(), transfer: transfers });
  const ask = async (method: string, path: string, init: RequestInit = {}) =>
    (await runtime.ask(method, `/conversations/${path}`, init)).text();
  await ask("PUT", "c/variables/__proto__", json(1));
  await ask("POST", "c/messages", json({ message: "Look." }));
  await ask("POST", "c/plans", json({ calls: [{ _id: "__proto__", _tool: "shot", of: 1 }] }));
  const { id } = JSON.parse(await ask("POST", "c/fork", json({}))) as { id: string };
  const recordsOf = async (conversation: string) => {
    const file = await ask("GET", `${conversation}/export`);
    const records = linesIn(file.replaceAll(/"accessedAt":"[^"]+",/gu, "")).filter(({ type }) =>
      /message|variable|plan/u.test(type),
    );
    expect(records).toHaveLength(7);
    return records.map((record) => canonicalJson(record as Json));
  };
  expect(await recordsOf(id)).toEqual(await recordsOf("c"));
});
