import { Webhook } from "standardwebhooks";
import { beforeEach, expect, it, vi } from "vitest";
import { planSupport } from "byref";
import { createClient } from "byref/client";
import { scriptedModel } from "byref/testing";
import { program, schedule, weeklyReport } from "../../examples/weekly-report/weekly-report.ts";
import { json } from "../support/edge.ts";
import { NodeRuntime } from "../support/node-runtime.ts";

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 29, 22), toFake: ["Date"] }));
function office() {
  const mails: { readonly to: string; readonly text: string }[] = [];
  const agent = weeklyReport({
    sales: (week) => [
      { team: "north", amount: week === "last" ? 40 : 7 },
      { team: "south", amount: 5 },
      { team: "north", amount: 2 },
    ],
    targets: () => ({ north: 50, south: 5 }),
    send: (mail) => void mails.push(mail),
  });
  const model = scriptedModel([]);
  const runtime = new NodeRuntime({ agents: [agent], model, plans: planSupport() });
  const { programs } = createClient("http://localhost", {
    fetch: (url, init) =>
      runtime.ask(init.method ?? "GET", url.slice("http://localhost".length), init),
  });
  const kept = () => programs.put("weekly-report", program, { agent: "weekly-report" });
  /** Waits until the runs have come to their gates. */
  const waiting = (count: number) =>
    vi.waitFor(async () => {
      const { runs } = await programs.runs("weekly-report");
      expect(runs.map(({ status }) => status)).toEqual(Array(count).fill("waiting"));
      return runs;
    });
  const approve = async (id: string) => {
    const { calls, conversation } = await programs.getRun("weekly-report", id);
    const gate = calls?.find(({ status }) => status === "waiting")?.gate ?? "";
    const at = `/conversations/${conversation}/approvals/${gate}`;
    await (await runtime.ask("POST", at, json({ approved: true }))).text();
    return programs.getRun("weekly-report", id);
  };
  return { runtime, programs, kept, waiting, approve, mails, model };
}

it("the report is written each second, and mailed when a person approves it", async () => {
  const { runtime, programs, kept, waiting, approve, mails, model } = office();
  await kept();
  await programs.schedule("weekly-report", "each-second", { ...schedule, cron: "* * * * * *" });
  for (let second = 1; second <= 3; second++) {
    vi.setSystemTime(Date.now() + 1_000);
    runtime.directoryNamed().tick();
    await waiting(second);
  }
  expect(mails).toEqual([]);
  const [newest] = await waiting(3);
  const run = await approve(newest?.id ?? "");
  expect(run).toMatchObject({ status: "done", cause: "schedule:each-second" });
  expect(mails).toEqual([{ to: "sales@shop.example", text: "north: 42 of 50\nsouth: 5 of 5" }]);
  expect(model.calls).toEqual([]);
});

it("the report is written for whoever calls the webhook, and mailed when a person approves it", async () => {
  const { runtime, programs, kept, waiting, approve, mails } = office();
  await kept();
  const { path, secret = "" } = await programs.webhook("weekly-report", "shop");
  const body = JSON.stringify({ week: "2026-W48", to: "boss@shop.example" });
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Date.now() / 1_000),
    "webhook-signature": new Webhook(secret).sign("msg_1", new Date(), body),
  };
  expect((await runtime.ask("POST", path, { body, headers })).status).toBe(202);
  const [run] = await waiting(1);
  expect(mails).toEqual([]);
  expect((await approve(run?.id ?? "")).cause).toBe("webhook:shop");
  expect(mails).toEqual([{ to: "boss@shop.example", text: "north: 9 of 50\nsouth: 5 of 5" }]);
});

it("the schedule comes on Mondays at eight", async () => {
  const { programs, kept } = office();
  await kept();
  const { nextAt } = await programs.schedule("weekly-report", "weekly", schedule);
  expect(nextAt).toBe("2026-11-30T07:00:00.000Z");
});
