import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  approved,
  planning,
  planTools,
  runOf,
  statusesOf,
} from "../../../../test/support/planning.ts";

const SECRET = "hunter2";
const ROOT = "/conversations/c";
const guard = (own: OwnRuntime) =>
  own.call("PUT", `${ROOT}/variables/key?visibility=secret`, json(SECRET));
const echo = (id: string, value: string | number) => ({
  _id: id,
  _tool: "echo",
  value,
  _outputPath: `†state.${id}`,
});

describe("a secret in a plan", () => {
  const spend = tool({ inputSchema: z.object({ value: z.any() }), execute: ({ value }) => value });
  const options = planning(
    { ...planTools(), spend },
    { agent: { policies: { spend: { secrets: ["key"] } } } },
  );
  const spending = { _id: "s", _tool: "spend", value: "†key", _outputPath: "†state.spent" };

  it("is not passed to a tool whose policy does not list it", async () => {
    const seen: never[] = [];
    await withRuntime(planning(planTools(seen)), async (own) => {
      await guard(own);
      const run = await runOf(own, await approved(own, [echo("a", "†key"), echo("b", 1)]));
      expect(statusesOf(run)).toEqual({ a: "failed", b: "done" });
      expect(seen).toEqual([1]);
    });
  });

  it("is in nothing that HTTP shows of the run", () =>
    withRuntime(options, async (own) => {
      await guard(own);
      const id = await approved(own, [spending]);
      const stream = await (await own.call("POST", `${ROOT}/plans/${id}/run`)).text();
      expect(stream).toContain("data-run");
      expect(stream).not.toContain(SECRET);
      for (const path of ["plans", `plans/${id}`, "variables/state", "events"]) {
        expect(await (await own.call("GET", `${ROOT}/${path}`)).text()).not.toContain(SECRET);
      }
    }));

  it("fails only the call that writes it to the state, in any order", () =>
    withRuntime(options, async (own) => {
      await guard(own);
      const others = [echo("one", 1), echo("two", "†state.one"), echo("three", "†state.two")];
      for (const calls of [
        [spending, ...others],
        [...others, spending],
      ]) {
        const run = await runOf(own, await approved(own, calls));
        const done = { one: "done", two: "done", three: "done" };
        expect(statusesOf(run)).toEqual({ s: "failed", ...done });
        expect(run.state).toEqual({ one: 1, two: 1, three: 1 });
      }
      const info = await own.call("GET", `${ROOT}/variables/state/info`);
      expect(await info.json()).toMatchObject({ version: 2, visibility: "model" });
    }));
});
