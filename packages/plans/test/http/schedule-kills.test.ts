import { scheduler } from "node:timers/promises";
import { tool, type ToolExecutionOptions } from "ai";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { json } from "../../../../test/support/edge.ts";
import { NodeRuntime } from "../../../../test/support/node-runtime.ts";
import { planning } from "../../../../test/support/planning.ts";
import { COUNTING, settle } from "./counting.ts";
import { slow } from "../../../../test/support/slow.ts";
import { programRunList } from "../../src/http/program-schemas.ts";

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
type Options = ToolExecutionOptions<unknown> & { readonly idempotencyKey?: string };

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it(
  "a kill anywhere in a scheduled run loses nothing and repeats nothing; the next one comes",
  slow,
  async () => {
    const ends = new Set<string>();
    for (let turns = 0; turns < 44; turns++) {
      vi.setSystemTime("2026-11-29T22:00:00Z");
      /** What a receiver that knows the keys of its requests has done. */
      const effects = new Map<string, number>();
      const count = tool({
        inputSchema: z.object({ before: z.any(), number: z.number() }),
        execute: async ({ number }, { idempotencyKey = "" }: Options) => {
          await settle(3);
          effects.set(idempotencyKey, number);
          return number;
        },
      });
      const options = planning({ count }, { agent: { effects: { count: "idempotent" } } });
      const runtime = new NodeRuntime(options);
      await runtime.ask("PUT", "/programs/p", json({ calls: COUNTING }));
      const daily = json({ cron: "0 0 * * *", timeZone: "UTC" });
      await runtime.ask("PUT", "/programs/p/schedules/s", daily);
      const runs = async () => {
        const response = await runtime.ask("GET", "/programs/p/runs");
        return programRunList().parse(await response.json()).runs;
      };
      vi.setSystemTime(Date.now() + DAY_MS);
      runtime.start();
      const rows = () => runtime.directoryNamed().sql.all(`SELECT 1 FROM program_run`).length;
      const state = () => `${rows()} ${effects.size}`;
      // At any point, and then at those that a busy machine may miss.
      const point = ["1 0", "1 1", "1 2", "1 3"][turns - 40];
      if (point === undefined) await settle(turns);
      else while (state() !== point) await settle(1);
      ends.add(state());
      runtime.kill();
      const passed = async (what: () => Promise<boolean>) => {
        for (let minutes = 0; !(await what()); minutes++) {
          expect(minutes, `after ${turns}`).toBeLessThan(90);
          vi.setSystemTime(Date.now() + MINUTE_MS);
          runtime.start();
          await scheduler.wait(10);
        }
      };
      await passed(async () => (await runs())[0]?.status === "done");
      expect([turns, [...effects.values()]]).toEqual([turns, [1, 2, 3]]);
      vi.setSystemTime(Date.now() + DAY_MS);
      await passed(
        async () => (await runs()).filter(({ status }) => status === "done").length === 2,
      );
      expect([turns, [...effects.values()]]).toEqual([turns, [1, 2, 3, 1, 2, 3]]);
    }
    // It was killed before the firing was stored, and before, between and after all calls.
    expect([...ends].sort()).toEqual(["0 0", "1 0", "1 1", "1 2", "1 3"]);
  },
);
