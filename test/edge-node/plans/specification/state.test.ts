import { describe, expect, it } from "vitest";
import {
  carryOut,
  planAt,
  putValue,
  statuses,
  withPlanner,
  valueOf,
} from "../../../support/plan-requests.ts";

const echo = (id: string, value: unknown, path?: string) => ({
  _id: id,
  _tool: "echo",
  value,
  ...(path === undefined ? {} : { _outputPath: path }),
});

describe("input and state", () => {
  it("state is merged at the end, deeply", () =>
    withPlanner({}, async ({ own }) => {
      await putValue(own, "state", { user: { old: 1, name: "x" }, list: [1] });
      await carryOut(own, [echo("a", "Ada", "†state.user.name")]);
      await carryOut(own, [echo("b", 2, "†state.user.new")]);
      expect(await valueOf(own, "state")).toEqual({
        user: { old: 1, name: "Ada", new: 2 },
        list: [1],
      });
    }));

  it("keep: false leaves the conversation alone; it is the run's result all the same", () =>
    withPlanner({}, async ({ own }) => {
      const { run, parts } = await carryOut(own, [echo("a", 1, "†state.a")], { keep: false });
      expect(run.state).toEqual({ a: 1 });
      expect(parts.at(-1)?.data["state"]).toEqual({ a: 1 });
      expect(await valueOf(own, "state")).toBe(404);
      await putValue(own, "state", { b: 2 });
      await carryOut(own, [echo("a", 1, "†state.a")], { keep: false });
      expect(await valueOf(own, "state")).toEqual({ b: 2 });
    }));

  it("a run's state is empty at the start: what the conversation had is not in it", () =>
    withPlanner({}, async ({ own }) => {
      await putValue(own, "state", { old: 1, user: { failed: { id: "old" } } });
      const { run } = await carryOut(own, [
        {
          _id: "v",
          _tool: "verify",
          userId: "friend",
          _outputPath: "†state.ok || †state.user.failed",
        },
        echo("r", "†state.user.failed.id", "†state.sorry"),
      ]);
      expect(run.state).toEqual({ ok: { id: "friend" } });
      expect(statuses(run)).toEqual({ v: "done", r: "skipped" });
    }));

  it("a conversation's variable is read, which no call produces", () =>
    withPlanner({}, async ({ own }) => {
      await putValue(own, "weather", { temp: 72 });
      const { run } = await carryOut(own, [echo("r", "†weather.temp", "†state.t")]);
      expect(run.state).toEqual({ t: 72 });
    }));

  it("the input cannot be written, and is the run's own", () =>
    withPlanner({}, async ({ own }) => {
      const { id, run } = await carryOut(own, [echo("r", "†input", "†state.all")], {
        input: { a: [1] },
      });
      expect(run.state).toEqual({ all: { a: [1] } });
      expect((await planAt(own, id)).runs[0]?.input).toEqual({ a: [1] });
      expect(await valueOf(own, "input")).toBe(404);
    }));
});
