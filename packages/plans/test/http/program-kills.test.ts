import { tool } from "ai";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { json } from "../../../../test/support/edge.ts";
import { NodeRuntime } from "../../../../test/support/node-runtime.ts";
import { planning } from "../../../../test/support/planning.ts";
import { COUNTING } from "./counting.ts";
import { programRunView } from "../../src/http/program-schemas.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const MINUTE_MS = 60_000;

/** Runs a program of three calls whose process dies in the `dies`-th, and comes back. */
async function killedAt(dies: number) {
  const done: number[] = [];
  let began = 0;
  const count = tool({
    inputSchema: z.object({ before: z.any(), number: z.number() }),
    execute: ({ number }) => {
      began++;
      if (began === dies) return new Promise<number>(() => {});
      done.push(number);
      return number;
    },
  });
  const options = planning({ count }, { agent: { effects: { count: "none" } } });
  const runtime = new NodeRuntime(options);
  await runtime.ask("PUT", "/programs/p", json({ calls: COUNTING }));
  void runtime.ask("POST", "/programs/p/runs", json({})).catch(() => undefined);
  await vi.waitUntil(() => began === dies);
  runtime.kill();
  runtime.start(options);
  return { runtime, done };
}

it.each([1, 2, 3])(
  "a run that is killed in call %i goes on in its conversation, and its tenant learns its end",
  async (dies) => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    const { runtime, done } = await killedAt(dies);
    // Nobody asks: the alarm of the tenant's object does.
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    runtime.directoryNamed().tick();
    const status = () => {
      const [row] = runtime.directoryNamed().sql.all(`SELECT status FROM program_run`);
      return row?.["status"];
    };
    await vi.waitUntil(() => status() === "done", { timeout: 5_000 });
    expect(done).toEqual([1, 2, 3]);
    const list = await runtime.ask("GET", "/programs/p/runs");
    const { runs } = (await list.json()) as { runs: { id: string }[] };
    expect(runs).toHaveLength(1);
    const run = await runtime.ask("GET", `/programs/p/runs/${runs[0]?.id}`);
    expect(programRunView().parse(await run.json()).state).toEqual({ n1: 1, n2: 2, n3: 3 });
  },
);

it("a run whose conversation was deleted has failed, and does not start again", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const { runtime, done } = await killedAt(2);
  const [row] = runtime.directoryNamed().sql.all(`SELECT conversation FROM program_run`);
  const at = `/conversations/${String(row?.["conversation"])}`;
  expect((await runtime.ask("DELETE", at)).status).toBe(204);
  const list = await runtime.ask("GET", "/programs/p/runs");
  expect(await list.json()).toMatchObject({
    runs: [{ status: "failed", error: expect.stringContaining("outcome_unknown") }],
  });
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  runtime.directoryNamed().tick();
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(done).toEqual([1]);
});
