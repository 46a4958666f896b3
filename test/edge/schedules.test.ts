import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { eventually, newTenant } from "../support/directory.ts";
import { callWith, json } from "../support/edge.ts";

it("the alarm of a tenant's object runs programs on time, and on a signed request without a key", async () => {
  const tenant = newTenant();
  const plan = {
    calls: [
      { _tool: "list_orders", _outputPath: "†state.orders" },
      {
        _tool: "summarize_orders",
        orders: "†state.orders",
        currency: "USD",
        _outputPath: "†state.sum",
      },
    ],
  };
  const kept = await tenant.call("PUT", "/programs/totals?agent=orders", json(plan));
  expect(kept.status, await kept.text()).toBe(200);
  const each = json({ cron: "* * * * * *", timeZone: "Europe/Berlin" });
  const schedule = await tenant.call("PUT", "/programs/totals/schedules/each", each);
  expect(schedule.status, await schedule.text()).toBe(200);
  const added = await tenant.call("PUT", "/programs/totals/webhooks/shop");
  const { path, secret } = await added.json<{ path: string; secret: string }>();
  const now = new Date();
  const response = await callWith({ AUTH: "bearer", API_KEYS: "{}" })("POST", path, {
    body: "{}",
    headers: {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign("msg_1", now, "{}"),
    },
  });
  expect(response.status, await response.text()).toBe(202);
  await eventually(async () => {
    const list = await tenant.call("GET", "/programs/totals/runs");
    const { runs } = await list.json<{ runs: { cause: string; status: string }[] }>();
    const done = runs.filter(({ status }) => status === "done").map(({ cause }) => cause);
    const times = done.filter((cause) => cause === "schedule:each");
    expect([times.length > 1, done.includes("webhook:shop")]).toEqual([true, true]);
  });
  expect((await tenant.call("DELETE", "/programs/totals")).status).toBe(204);
});
