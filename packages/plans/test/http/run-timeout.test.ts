import { tool } from "ai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { runView } from "../../src/http/plan-schemas.ts";
import * as limits from "../../../../src/limits.ts";
import { json } from "../../../../test/support/edge.ts";
import { withRuntime } from "../../../../test/support/own-runtime.ts";
import { approved, planning, statusesOf } from "../../../../test/support/planning.ts";
import { slow } from "../../../../test/support/slow.ts";

const ROOT = "/conversations/c/plans";

describe("a run", () => {
  it(
    "fails as turn_timeout after an hour: running calls are aborted, the others are skipped",
    slow,
    async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const begun: (() => void)[] = [];
      let stopped = 0;
      const hold = tool({
        inputSchema: z.object({ after: z.any().optional() }),
        execute: (_, { abortSignal }) =>
          new Promise<number>((resolve) => {
            const stop = () => void stopped++;
            begun.push(() => {
              abortSignal?.removeEventListener("abort", stop);
              resolve(begun.length);
            });
            abortSignal?.addEventListener("abort", stop, { once: true });
          }),
      });
      await withRuntime(planning({ hold }), async (own) => {
        const stepMs = limits.toolMs * 0.9;
        const count = Math.ceil(limits.runMs / stepMs) + 1;
        const id = await approved(
          own,
          Array.from({ length: count }, (_, at) => holding(at)),
        );
        const running = own.call(
          "POST",
          `${ROOT}/${id}/run`,
          json({}, { accept: "application/json" }),
        );
        for (let atMs = 0; atMs < limits.runMs; atMs += stepMs) {
          const last = Math.round(atMs / stepMs);
          while (begun.length <= last) await scheduler.wait(1);
          await vi.advanceTimersByTimeAsync(stepMs);
          begun[last]?.();
        }
        const run = runView().parse(await (await running).json());
        expect(run).toMatchObject({
          status: "failed",
          error: expect.stringMatching(/^turn_timeout: /),
        });
        expect(stopped).toBe(1);
        expect(Object.values(statusesOf(run)).slice(-2)).toEqual(["failed", "skipped"]);
      });
    },
  );
});

/** Returns the call at this position of a chain. */
function holding(at: number) {
  const after = at === 0 ? {} : { after: `†state.h${at - 1}` };
  return { _tool: "hold", _id: `h${at}`, ...after, _outputPath: `†state.h${at}` };
}
