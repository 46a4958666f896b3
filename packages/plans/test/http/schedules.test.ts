import { tool } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import type { ErrorCode } from "../../../../src/errors.ts";
import { json, problemIn } from "../../../../test/support/edge.ts";
import { NodeRuntime } from "../../../../test/support/node-runtime.ts";
import { payingPlanner, planning } from "../../../../test/support/planning.ts";
import { programView, scheduleView } from "../../src/http/program-schemas.ts";
import { runsOf } from "./program-runs.ts";

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 29, 22), toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const echo = {
  input: { type: "object", properties: { value: { type: "number", default: 1 } } },
  calls: [{ _tool: "echo", value: "†input.value", _outputPath: "†state.out" }],
};

async function scheduled(cron: string, more: object = {}, program: object = echo) {
  const { tools, policy, paid } = payingPlanner();
  const runtime = new NodeRuntime(planning(tools, { agent: { policy } }));
  const kept = await runtime.ask("PUT", "/programs/p", json(program));
  expect(kept.status, await kept.clone().text()).toBe(200);
  const body = { cron, timeZone: "Europe/Berlin", ...more };
  const response = await runtime.ask("PUT", "/programs/p/schedules/s", json(body));
  expect(response.status, await response.clone().text()).toBe(200);
  return { runtime, paid, schedule: scheduleView().parse(await response.json()) };
}

async function nextOf({ ask }: NodeRuntime) {
  const response = await ask("GET", "/programs/p");
  return programView().parse(await response.json()).schedules[0]?.nextAt;
}

/** Lets time pass, and waits for the alarm and for all runs that it starts. */
async function pass(runtime: NodeRuntime, ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + ms);
  const object = runtime.directoryNamed();
  object.tick();
  await vi.waitFor(async () => {
    expect(object.isRinging).toBe(false);
    expect((await runsOf(runtime)).map(({ status }) => status)).not.toContain("running");
  });
}

describe("a schedule", () => {
  it("runs its program at its times, each in a conversation of its own, on its input", async () => {
    const { runtime, schedule } = await scheduled("0 8 * * 1", { input: { value: 5 } });
    // Monday, 08:00 in Berlin.
    expect(schedule).toMatchObject({ misfires: "once", nextAt: "2026-11-30T07:00:00.000Z" });
    await pass(runtime, 8 * HOUR_MS);
    expect(await runsOf(runtime)).toEqual([]);
    await pass(runtime, HOUR_MS);
    await pass(runtime, 7 * DAY_MS);
    const runs = await runsOf(runtime);
    expect(runs).toMatchObject([
      { status: "done", cause: "schedule:s", input: { value: 5 } },
      { status: "done", cause: "schedule:s", input: { value: 5 } },
    ]);
    expect(new Set(runs.map(({ conversation }) => conversation)).size).toBe(2);
    expect(await nextOf(runtime)).toBe("2026-12-14T07:00:00.000Z");
  });

  it.each([
    ["the hour that a day skips", "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z"],
    [
      "two times that a day skips",
      "0,30 2 * * 0",
      "2026-03-28T12:00:00Z",
      "2026-03-29T01:00:00.000Z",
    ],
    ["times that come twice", "0,30 1-2 * * *", "2026-10-25T00:31:00Z", "2026-10-26T00:00:00.000Z"],
    ["a step, on each hour", "*/30 2 * * *", "2026-10-25T00:31:00Z", "2026-10-25T01:00:00.000Z"],
    ["an hour that comes twice", "30 2 * * *", "2026-10-25T00:31:00Z", "2026-10-26T01:30:00.000Z"],
    ["the last day of a month", "0 0 L * *", "2027-02-01T00:00:00Z", "2027-02-27T23:00:00.000Z"],
    ["seconds", "*/20 * * * * *", "2026-11-29T22:00:01Z", "2026-11-29T22:00:20.000Z"],
  ])("knows %s", async (_, cron, now, nextAt) => {
    vi.setSystemTime(new Date(now));
    expect((await scheduled(cron)).schedule.nextAt).toBe(nextAt);
  });

  it.each([
    ["skip", 0],
    ["once", 1],
    ["all", 48],
  ])("of the 48 times that passed while nothing ran, %s runs %i", async (misfires, count) => {
    const { runtime } = await scheduled("30 * * * *", { misfires });
    runtime.kill();
    await pass(runtime, 2 * DAY_MS);
    expect(await runsOf(runtime)).toHaveLength(count);
    await pass(runtime, 30 * MINUTE_MS);
    expect((await runsOf(runtime)).filter(({ status }) => status === "done")).toHaveLength(
      count + 1,
    );
  });

  it("catches up with the newest fifty times at most, after years in which it was due every second", async () => {
    const { runtime } = await scheduled("* * * * * *", { misfires: "all" });
    await pass(runtime, 2 * 365 * DAY_MS);
    expect(await runsOf(runtime)).toHaveLength(50);
  });

  it("shows a run that could not start as failed, with the reason, and goes on", async () => {
    const { runtime } = await scheduled("0 * * * *", { input: { value: 5 } });
    const text = { ...echo, input: { type: "object", properties: { value: { type: "string" } } } };
    await runtime.ask("PUT", "/programs/p", json(text));
    await pass(runtime, HOUR_MS);
    expect(await runsOf(runtime)).toMatchObject([
      { status: "failed", version: 2, error: expect.stringContaining("value") },
    ]);
    await runtime.ask("PUT", "/programs/p", json(echo));
    await pass(runtime, HOUR_MS);
    expect(await runsOf(runtime)).toMatchObject([{ status: "done" }, { status: "failed" }]);
  });

  it("is replaced and deleted; with its program, and with all data of its tenant", async () => {
    const { runtime } = await scheduled("0 * * * *");
    const daily = json({ cron: "0 0 * * *", timeZone: "UTC" });
    await runtime.ask("PUT", "/programs/p/schedules/s", daily);
    expect(await nextOf(runtime)).toBe("2026-11-30T00:00:00.000Z");
    for (const path of ["/programs/p/schedules/s", "/programs/p", "/conversations?all=true"]) {
      await runtime.ask("PUT", "/programs/p/schedules/s", daily);
      expect((await runtime.ask("DELETE", path)).status).toBeLessThan(300);
      await runtime.ask("PUT", "/programs/p", json(echo));
      expect([path, await nextOf(runtime)]).toEqual([path, undefined]);
    }
    const { sql } = runtime.directoryNamed();
    expect(sql.all(`SELECT 1 FROM program_trigger UNION SELECT 1 FROM program_run`)).toEqual([]);
  });

  it("names what is wrong, and stores nothing", async () => {
    const { runtime } = await scheduled("0 * * * *");
    await runtime.ask("DELETE", "/programs/p/schedules/s");
    const [cron, timeZone] = ["0 8 * * 1", "Europe/Berlin"];
    const rows: readonly (readonly [object, ErrorCode, string])[] = [
      [{ cron }, "bad_request", "timeZone"],
      [{ timeZone }, "bad_request", "cron"],
      [{ cron, timeZone: "" }, "bad_request", "timeZone"],
      [{ cron, timeZone: "Mars/Base" }, "bad_request", "timeZone"],
      [{ cron: "61 * * * *", timeZone }, "bad_request", "cron"],
      [{ cron: "", timeZone }, "bad_request", "cron"],
      [{ cron: "0 8 * *", timeZone }, "bad_request", "cron"],
      [{ cron: "0 0 8 * * 1 2030", timeZone }, "bad_request", "cron"],
      [{ cron: "2030-01-01T00:00:00", timeZone }, "bad_request", "cron"],
      [{ cron: "? * * * *", timeZone }, "bad_request", "cron"],
      [{ cron: "0 0 30 2 *", timeZone }, "bad_request", "cron"],
      [{ cron: "0 ".repeat(200), timeZone }, "bad_request", "cron"],
      [{ cron, timeZone, misfires: "some" }, "bad_request", "misfires"],
      [{ cron, timeZone, more: 1 }, "bad_request", "more"],
      [{ cron, timeZone, input: { value: "x" } }, "invalid_plan", "value"],
    ];
    for (const [body, code, named] of rows) {
      const response = await runtime.ask("PUT", "/programs/p/schedules/s", json(body));
      expect((await problemIn(response, code)).detail).toContain(named);
    }
    const good = json({ cron, timeZone });
    await problemIn(await runtime.ask("PUT", "/programs/q/schedules/s", good), "not_found");
    await problemIn(await runtime.ask("PUT", "/programs/p/schedules/%2F", good), "bad_request");
    await problemIn(await runtime.ask("DELETE", "/programs/p/schedules/s"), "not_found");
    expect(await nextOf(runtime)).toBe(undefined);
    expect(runtime.directoryNamed().sql.all(`SELECT 1 FROM program_trigger`)).toEqual([]);
  });

  it("is refused for a program whose tool has changed, with what to change", async () => {
    const { runtime } = await scheduled("0 * * * *");
    const other = tool({ inputSchema: z.object({ texts: z.array(z.string()) }), execute: () => 1 });
    runtime.start(planning({ echo: other }));
    runtime.kill();
    const body = json({ cron: "0 8 * * 1", timeZone: "UTC" });
    const response = await runtime.ask("PUT", "/programs/p/schedules/t", body);
    expect((await problemIn(response, "invalid_plan")).detail).toContain("texts");
    await pass(runtime, HOUR_MS);
    expect(await runsOf(runtime)).toMatchObject([
      { status: "failed", error: expect.stringContaining("texts") },
    ]);
  });

  it("is one of fifty schedules and webhooks that a program may have", async () => {
    const { runtime } = await scheduled("0 * * * *");
    const body = json({ cron: "0 8 * * 1", timeZone: "UTC" });
    for (let number = 1; number < 50; number++) {
      await runtime.ask("PUT", `/programs/p/schedules/s${number}`, body);
    }
    await problemIn(await runtime.ask("PUT", "/programs/p/webhooks/w"), "limit_exceeded");
    expect((await runtime.ask("PUT", "/programs/p/schedules/s1", body)).status).toBe(200);
  });
});
