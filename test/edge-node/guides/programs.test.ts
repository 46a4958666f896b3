import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { createClient } from "../../../packages/client/src/client/create-client.ts";
import { finish, toolCall } from "byref/testing";
import { json } from "../../support/edge.ts";
import { NodeRuntime } from "../../support/node-runtime.ts";
import { planning } from "../../support/planning.ts";

async function shop() {
  const total = tool({
    inputSchema: z.object({ rows: z.array(z.object({ sum: z.number() })) }),
    execute: ({ rows }) => rows.reduce((sum, row) => sum + row.sum, 0),
  });
  const call = toolCall("total", { rows: "$sales", _outputPath: "$report" });
  const steps = [[...call, ...finish("tool-calls")], [...finish()]];
  const { ask } = new NodeRuntime(planning({ total }, { agent: { outputPath: true }, steps }));
  await ask("PUT", "/conversations/shop/variables/sales", json([{ sum: 1 }]));
  await (await ask("POST", "/conversations/shop/messages", json({ message: "Sum." }))).text();
  const origin = "http://localhost";
  return createClient(origin, {
    fetch: (url, init) => ask(init.method ?? "GET", url.slice(origin.length), init),
  });
}

it("a program of the client runs on other data", async () => {
  const client = await shop();
  const { plans } = client.conversation("shop");
  const made = await plans.propose({ from: "$report" });
  expect(made.calls).toMatchObject([{ _tool: "total" }]);
  // --- client
  await client.programs.put("totals", { conversation: "shop", from: "$report" });
  const { state, ms } = await client.programs.run("totals", { input: { sales: [{ sum: 40 }] } });
  const { runs } = await client.programs.runs("totals");
  const failed = runs.filter(({ status }) => status === "failed");
  for (const { id } of failed) await client.programs.retryRun("totals", id);
  await client.programs.schedule("totals", "weekly", {
    cron: "0 8 * * 1",
    timeZone: "Europe/Berlin",
  });
  const { path, secret } = await client.programs.webhook("totals", "shop");
  await client.programs.delete("totals", "schedules", "weekly");
  // ---
  expect([state, runs.length, Number(ms) >= 0]).toEqual([{ report: 40 }, 1, true]);
  const [{ id = "" } = {}] = runs;
  expect(await client.programs.getRun("totals", id)).toMatchObject({ state, version: 1 });
  await expect(client.programs.retryRun("totals", id)).rejects.toThrow("Only a failed run");
  expect([path, secret]).toEqual([
    expect.stringMatching("^/hooks/"),
    expect.stringMatching("^whsec_"),
  ]);
  expect(await client.programs.get("totals")).toMatchObject({
    schedules: [],
    webhooks: [{ name: "shop", path }],
    versions: [1],
  });
  await client.programs.delete("totals");
  expect(await client.programs.list()).toEqual({ programs: [] });
});

it("a stale value of the client is made again", async () => {
  const client = await shop();
  // --- recompute
  const { plans, variables } = client.conversation("shop");
  await variables.put("sales", [{ sum: 40 }]);
  const { calls, left } = await plans.recomputation(["report"]); // nothing runs yet
  await plans.recompute(["report"]).json();
  const report = await variables.get("report"); // 40
  // ---
  expect([calls, left, report]).toMatchObject([[{ _id: "report", _tool: "total" }], [], 40]);
});
