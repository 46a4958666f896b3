import type { ToolExecutionOptions } from "ai";
import { expect, it } from "vitest";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { json } from "../chaos/writers.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import { toolOf } from "../support/tool-of.ts";

/** Runs one tool for the tenants that requests name, and records the keys that it receives. */
function paying() {
  const keys: string[] = [];
  const pay = toolOf(
    {},
    (_, options: ToolExecutionOptions<unknown> & { readonly idempotencyKey?: string }) => {
      keys.push(options.idempotencyKey ?? "");
      return "paid";
    },
  );
  const turn = [
    [toolCall("pay", {}), finish("tool-calls")],
    [text("Paid."), finish()],
  ];
  const runtime = new NodeRuntime({
    agents: [
      { name: "a", description: "", instructions: "", tools: { pay }, approvesPlan: () => true },
    ],
    model: scriptedModel([...turn, ...turn]),
    plans: planSupport(),
    authenticator: (request) => request.headers.get("cookie") ?? "",
  });
  const as = (tenant: string) => async (path: string, body: object) => {
    const { headers, ...init } = json(body);
    const sent = { ...init, headers: { ...headers, cookie: tenant } };
    return runtime.ask("POST", `/conversations/same${path}`, sent);
  };
  return { keys, as };
}

it("the idempotency key of a tool differs between tenants for conversations of the same name, and does not name the tenant", async () => {
  const { keys, as } = paying();
  for (const tenant of ["shop", "bank"]) {
    await (await as(tenant)("/messages", { message: "Pay" })).text();
    const proposed = await as(tenant)("/plans", { calls: [{ _tool: "pay", _id: "it" }] });
    const { id } = (await proposed.json()) as { readonly id: string };
    await (await as(tenant)(`/plans/${id}/run`, {})).text();
  }
  expect(keys).toHaveLength(4);
  const owners = keys.map((key) => /^([0-9a-f]{64})\/[0-9a-z-]+\/(?:0\/0|it)$/.exec(key)?.[1]);
  expect(new Set(owners)).toHaveProperty("size", 2);
  expect(owners).not.toContain(undefined);
  expect(owners.slice(0, 2)).toEqual([owners[0], owners[0]]);
});
