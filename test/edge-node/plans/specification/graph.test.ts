import { type Tool, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  approve,
  callOf,
  carryOut,
  offer,
  planAt,
  putValue,
  runPlan,
  statuses,
  taken,
  withPlanner,
  valueOf,
} from "../../../support/plan-requests.ts";

const echo = (id: string, value: unknown, path?: string) => ({
  _id: id,
  _tool: "echo",
  value,
  ...(path === undefined ? {} : { _outputPath: path }),
});

/** Names the path that it is told to, by a name that is no reference. */
const choose: Tool = tool({
  inputSchema: z.object({ at: z.string(), value: z.any() }),
  execute: ({ at, value }): unknown => ({ _outputPath: `†state.${at}`, value }),
});

describe("edges", () => {
  it("lead to readers of the path, of a prefix, and of what is below", () =>
    withPlanner({}, async ({ own }) => {
      const { run } = await carryOut(own, [
        echo("prefix", "†state.user", "†state.p"),
        echo("same", "†state.user.name", "†state.s"),
        echo("below", "†state.user.name.first", "†state.b"),
        echo("text", "Dear †state.user.name.first, †state.user.name.last!", "†state.t"),
        echo("nested", { list: [{ deep: "†state.user.name.first" }] }, "†state.n"),
        echo("writer", { first: "Ada", last: "L" }, "†state.user.name"),
      ]);
      const name = { first: "Ada", last: "L" };
      expect(run.state).toEqual({
        user: { name },
        p: { name },
        s: name,
        b: "Ada",
        t: "Dear Ada, L!",
        n: { list: [{ deep: "Ada" }] },
      });
    }));

  it("a reader of a prefix waits for all who write below it", () =>
    withPlanner({}, async ({ own }) => {
      const { run } = await carryOut(own, [
        echo("read", "†state.user", "†state.copy"),
        echo("b", "†state.first", "†state.user.b"),
        echo("a", 1, "†state.user.a"),
        echo("c", 2, "†state.first"),
      ]);
      expect(run.state).toMatchObject({ copy: { a: 1, b: 2 } });
    }));

  it("a reader of a prefix of two alternatives gets the one that was written", () =>
    withPlanner({}, async ({ own }) => {
      const path = "†state.user.verified || †state.user.failed";
      const { run } = await carryOut(own, [
        { _id: "v", _tool: "verify", userId: "stranger", _outputPath: path },
        echo("read", "†state.user", "†state.copy"),
      ]);
      expect(run.state).toMatchObject({ copy: { failed: { id: "stranger" } } });
    }));

  it("a reader of either alternative runs with the one that was written", () =>
    withPlanner({}, async ({ own }) => {
      const path = "†state.user.verified || †state.user.failed";
      for (const userId of ["stranger", "friend"]) {
        const { run } = await carryOut(own, [
          { _id: "v", _tool: "verify", userId, _outputPath: path },
          echo("read", "†state.user.verified || †state.user.failed", "†state.copy"),
        ]);
        expect(run.state).toMatchObject({ copy: { id: userId } });
      }
    }));

  it("null, 0, an empty text and false flow as they are", () =>
    withPlanner({}, async ({ own }) => {
      for (const value of [null, 0, "", false]) {
        const { run } = await carryOut(own, [
          echo("read", "†state.a", "†state.b"),
          echo("write", value, "†state.a"),
        ]);
        expect(run.state).toEqual({ a: value, b: value });
      }
    }));

  it("a path that is not there fails the reader", () =>
    withPlanner({}, async ({ own }) => {
      const { run } = await carryOut(own, [
        echo("write", { id: 1 }, "†state.user"),
        echo("read", "†state.user.name", "†state.copy"),
      ]);
      expect(statuses(run)).toEqual({ write: "done", read: "failed" });
      expect(callOf(run, "read")?.reason).toMatch(/\S/);
    }));

  it("a value is never read for references", () =>
    withPlanner({}, async ({ own }) => {
      const { run } = await carryOut(
        own,
        [
          echo("a", "†input.text", "†state.text"),
          echo("b", "Said: †state.text", "†state.b"),
          echo("c", 1, "†state.secret"),
        ],
        { input: { text: "†state.secret" } },
      );
      expect(run.state).toMatchObject({ text: "†state.secret", b: "Said: †state.secret" });
    }));

  it("the order of the calls never changes the result", () =>
    withPlanner({}, async ({ own }) => {
      const calls = [
        echo("a", 1, "†state.a"),
        {
          _id: "v",
          _tool: "verify",
          userId: "stranger",
          _outputPath: "†state.y || †state.user.failed",
        },
        {
          _id: "s",
          _tool: "add",
          a: "†state.a",
          b: "†state.a",
          _outputPath: "†state.s && †state.t",
        },
        echo("sorry", "†state.user.failed.id and †state.s", "†state.sorry"),
      ];
      const orders = permutations(calls);
      const first = await carryOut(own, orders[0] ?? []);
      expect(first.run.state).toMatchObject({ a: 1, s: 2, t: 2, sorry: "stranger and 2" });
      for (const order of orders.slice(1)) {
        expect((await carryOut(own, order)).run.state).toEqual(first.run.state);
      }
    }));
});

function permutations<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length < 2) return [items];
  return items.flatMap((item, at) =>
    permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]),
  );
}

describe("alternatives", () => {
  it.each([
    ["x", { x: 7 }, { c: "done", rx: "done", ry: "skipped" }],
    ["y", { y: 7 }, { c: "done", rx: "skipped", ry: "done" }],
  ])("exactly the one that the tool names is written: %s", (at, state, ends) =>
    withPlanner({ tools: { choose } }, async ({ own, seen }) => {
      const { run } = await carryOut(own, [
        { _id: "c", _tool: "choose", at, value: 7, _outputPath: "†state.x || †state.y" },
        echo("rx", "†state.x"),
        echo("ry", "†state.y"),
      ]);
      expect(run.state).toEqual(state);
      expect(statuses(run)).toEqual(ends);
      const skipped = run.calls.find(({ status }) => status === "skipped");
      expect(skipped?.reason).toMatch(/\S/);
      expect(seen).toEqual([{ value: 7 }]);
    }),
  );

  it("a path that is none of them is not written", () =>
    withPlanner({ tools: { choose } }, async ({ own }) => {
      const { run } = await carryOut(own, [
        { _id: "c", _tool: "choose", at: "z", value: 7, _outputPath: "†state.x || †state.y" },
      ]);
      expect(run.state).not.toHaveProperty("z");
      expect(Object.keys(run.state as object).length).toBeLessThan(2);
    }));

  it("what follows a branch that was not chosen is skipped to its end", () =>
    withPlanner({}, async ({ own }) => {
      const { run } = await carryOut(own, [
        {
          _id: "v",
          _tool: "verify",
          userId: "friend",
          _outputPath: "†state.ok || †state.user.failed",
        },
        echo("one", "†state.user.failed", "†state.one"),
        echo("two", "†state.one", "†state.two"),
        echo("free", "†state.ok.id", "†state.free"),
      ]);
      expect(statuses(run)).toEqual({ v: "done", one: "skipped", two: "skipped", free: "done" });
    }));
});

describe("fan-out", () => {
  it("writes each path", () =>
    withPlanner({}, async ({ own }) => {
      const { run } = await carryOut(own, [
        echo("w", [1], "†state.a.b && †state.c && †state.d.e.f"),
        echo("r", "†state.d.e", "†state.r"),
      ]);
      expect(run.state).toEqual({ a: { b: [1] }, c: [1], d: { e: { f: [1] } }, r: { f: [1] } });
    }));

  it("writes none if one cannot be", () =>
    withPlanner({}, async ({ own }) => {
      const answer = await offer(own, [
        echo("scalar", 5, "†state.b"),
        echo("fan", "†state.b", "†state.a && †state.b.c"),
      ]);
      if (answer.status === 422) return;
      const { id } = await taken(answer);
      await approve(own, id);
      const { run } = await runPlan(own, id);
      expect(run.state).toEqual({ b: 5 });
      expect(statuses(run)).toEqual({ scalar: "done", fan: "failed" });
    }));
});

describe("failures", () => {
  it("skip dependents with the reason; the rest runs", () =>
    withPlanner({}, async ({ own }) => {
      const { run } = await carryOut(own, [
        { _id: "f", _tool: "fail", _outputPath: "†state.user.a" },
        echo("sibling", 1, "†state.user.b"),
        echo("prefix", "†state.user", "†state.p"),
        echo("next", "†state.p", "†state.n"),
        echo("free", "ok", "†state.free"),
        echo("after", "†state.free", "†state.after"),
      ]);
      const skipped = { prefix: "skipped", next: "skipped" };
      const done = { sibling: "done", free: "done", after: "done" };
      expect(statuses(run)).toEqual({ f: "failed", ...skipped, ...done });
      expect(run.state).toEqual({ user: { b: 1 }, free: "ok", after: "ok" });
      expect(callOf(run, "f")?.reason).toContain("boom");
      for (const id of ["prefix", "next"]) expect(callOf(run, id)?.reason).toMatch(/\S/);
    }));

  it("a value that the tool does not take fails its call alone", () =>
    withPlanner({}, async ({ own }) => {
      const { run } = await carryOut(own, [
        echo("w", "no number", "†state.a"),
        { _id: "x", _tool: "add", a: "†state.a", b: 1, _outputPath: "†state.sum" },
        echo("free", 1, "†state.free"),
      ]);
      expect(statuses(run)).toEqual({ w: "done", x: "failed", free: "done" });
    }));
});

describe("input and state", () => {
  it("a missing input is not handed on as text", () =>
    withPlanner({}, async ({ own, seen }) => {
      const { run } = await carryOut(own, [echo("x", "†input.who", "†state.a")]);
      expect(statuses(run)).toEqual({ x: "failed" });
      expect(seen).toEqual([]);
    }));

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
