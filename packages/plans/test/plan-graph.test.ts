import { describe, expect, it } from "vitest";
import { Runs } from "../../../test/support/plan-runs.ts";
import { planOf } from "../../../test/support/plans.ts";
import type { Json } from "../../../src/value/json.ts";

type Calls = readonly Readonly<Record<string, Json>>[];

const echo = (id: string, value: Json, path?: string) => ({
  _id: id,
  _tool: "echo",
  value,
  ...(path === undefined ? {} : { _outputPath: path }),
});
const verify = (userId: string, _outputPath: string) => ({
  _id: "v",
  _tool: "verify",
  userId,
  _outputPath,
});
const choose = (at: string) => ({
  _id: "c",
  _tool: "choose",
  at,
  value: 7,
  _outputPath: "†state.x || †state.y",
});

async function outcomeOf(calls: Calls, input: Json = {}) {
  const runs = new Runs();
  const record = await runs.run(planOf(calls), input);
  const ended = Object.entries(record.calls);
  return {
    state: await runs.stateOf(record.id),
    statuses: Object.fromEntries(ended.map(([id, { status }]) => [id, status])),
    reasonOf: (id: string) => record.calls[id]?.reason,
  };
}

const name = { first: "Ada", last: "L" };
const either = "†state.user.verified || †state.user.failed";

describe("the state of a run", () => {
  it.each<readonly [string, Calls, Json]>([
    [
      "a path, its prefix and its parts can be read",
      [
        echo("prefix", "†state.user", "†state.p"),
        echo("same", "†state.user.name", "†state.s"),
        echo("below", "†state.user.name.first", "†state.b"),
        echo("text", "Dear †state.user.name.first, †state.user.name.last!", "†state.t"),
        echo("nested", { list: [{ deep: "†state.user.name.first" }] }, "†state.n"),
        echo("writer", name, "†state.user.name"),
      ],
      {
        user: { name },
        p: { name },
        s: name,
        b: "Ada",
        t: "Dear Ada, L!",
        n: { list: [{ deep: "Ada" }] },
      },
    ],
    [
      "a reader of a prefix waits for all writers below it",
      [
        echo("read", "†state.user", "†state.copy"),
        echo("b", "†state.first", "†state.user.b"),
        echo("a", 1, "†state.user.a"),
        echo("c", 2, "†state.first"),
      ],
      { copy: { a: 1, b: 2 }, user: { a: 1, b: 2 }, first: 2 },
    ],
    [
      "a reader of a prefix of two alternatives gets the one that was written",
      [verify("stranger", either), echo("read", "†state.user", "†state.copy")],
      { copy: { failed: { id: "stranger" } }, user: { failed: { id: "stranger" } } },
    ],
    ...["stranger", "friend"].map((id): readonly [string, Calls, Json] => [
      `a reader of either alternative runs with the one that was written: ${id}`,
      [verify(id, either), echo("read", either, "†state.copy")],
      {
        copy: { id },
        user: id === "friend" ? { verified: { id } } : { failed: { id } },
      },
    ]),
    [
      "the tool may name an alternative in another spelling",
      [
        {
          _id: "c",
          _tool: "choose",
          at: '["y"]',
          value: 7,
          _outputPath: "†state.x || †state.y",
        },
        echo("read", "†state.y", "†state.copy"),
      ],
      { y: 7, copy: 7 },
    ],
    ...[null, 0, "", false].map((value): readonly [string, Calls, Json] => [
      `${JSON.stringify(value)} flows as it is`,
      [echo("read", "†state.a", "†state.b"), echo("write", value, "†state.a")],
      { a: value, b: value },
    ]),
    [
      "each path of a fan-out is written",
      [
        echo("w", [1], "†state.a.b && †state.c && †state.d.e.f"),
        echo("r", "†state.d.e", "†state.r"),
      ],
      { a: { b: [1] }, c: [1], d: { e: { f: [1] } }, r: { f: [1] } },
    ],
  ])("%s", async (_, calls, expected) => {
    const { state, statuses } = await outcomeOf(calls);
    expect(state).toEqual(expected);
    expect(new Set(Object.values(statuses))).toEqual(new Set(["done"]));
  });
});

describe("calls that fail or are skipped", () => {
  it.each<readonly [string, Calls, Json, Readonly<Record<string, string>>]>([
    [
      "a missing path fails its reader",
      [echo("write", { id: 1 }, "†state.user"), echo("read", "†state.user.name", "†state.copy")],
      { user: { id: 1 } },
      { write: "done", read: "failed" },
    ],
    [
      "a missing input fails its reader",
      [echo("x", "†input.who", "†state.a")],
      {},
      { x: "failed" },
    ],
    ...(["x", "y"] as const).map(
      (at): readonly [string, Calls, Json, Readonly<Record<string, string>>] => [
        `only the alternative that the tool names is written: ${at}`,
        [choose(at), echo("rx", "†state.x"), echo("ry", "†state.y")],
        { [at]: 7 },
        { c: "done", rx: at === "x" ? "done" : "skipped", ry: at === "y" ? "done" : "skipped" },
      ],
    ),
    [
      "a branch that was not chosen is skipped to its end",
      [
        verify("friend", "†state.ok || †state.user.failed"),
        echo("one", "†state.user.failed", "†state.one"),
        echo("two", "†state.one", "†state.two"),
        echo("free", "†state.ok.id", "†state.free"),
      ],
      { ok: { id: "friend" }, free: "friend" },
      { v: "done", one: "skipped", two: "skipped", free: "done" },
    ],
    [
      "dependents of a failure are skipped; the rest runs",
      [
        { _id: "f", _tool: "fail", _outputPath: "†state.user.a" },
        echo("sibling", 1, "†state.user.b"),
        echo("prefix", "†state.user", "†state.p"),
        echo("next", "†state.p", "†state.n"),
        echo("free", "ok", "†state.free"),
        echo("after", "†state.free", "†state.after"),
      ],
      { user: { b: 1 }, free: "ok", after: "ok" },
      {
        f: "failed",
        sibling: "done",
        prefix: "skipped",
        next: "skipped",
        free: "done",
        after: "done",
      },
    ],
    [
      "a value that the tool does not accept fails only its call",
      [
        echo("w", "no number", "†state.a"),
        { _id: "x", _tool: "add", a: "†state.a", b: 1, _outputPath: "†state.sum" },
        echo("free", 1, "†state.free"),
      ],
      { a: "no number", free: 1 },
      { w: "done", x: "failed", free: "done" },
    ],
  ])("%s", async (...[, calls, expected, ends]) => {
    const { state, statuses, reasonOf } = await outcomeOf(calls);
    expect(state).toEqual(expected);
    expect(statuses).toEqual(ends);
    for (const [id, status] of Object.entries(ends)) {
      if (status !== "done") expect(reasonOf(id)).toMatch(/\S/);
    }
  });
});
