import { describe, expect, it } from "vitest";
import type { Json } from "../../../../src/value/json.ts";
import { parsePath } from "../../../../src/references.ts";
import type { Syntaxes } from "../../../../src/internal.ts";
import { slow } from "../../../../test/support/slow.ts";
import { type PastStep, sliceCalls, type SliceSource } from "../../src/program/slice-calls.ts";

/** `orders`, `state.user`, or `vars:report` for what code assigns. */
function call(tool: string, input: Json, ...saved: readonly string[]): PastStep {
  const places = saved.map((place) => {
    const [, vars, name = "", path = ""] = /^(vars:)?(\w+)(.*)$/u.exec(place) ?? [];
    const at = { name, path: parsePath(path) ?? [] };
    return vars === undefined ? at : { ...at, isAssigned: true as const };
  });
  return { id: `${tool}_${saved.join()}`, tool, input, saved: places };
}

const given = (name: string): PastStep => ({ given: name });
const answer = (text: string, ...placed: readonly string[]): SliceSource => ({
  text,
  placed: new Set(placed),
  question: "How many in 2026?",
});

const list = call("list_orders", { status: "paid" }, "orders");

interface Case {
  readonly name: string;
  readonly steps: readonly PastStep[];
  readonly from: SliceSource;
  readonly known?: readonly string[];
  readonly stays?: readonly string[];
  /** Each call: tool, parameters, output path. */
  readonly calls: readonly (readonly [string, Json, string])[];
  readonly inputs?: readonly object[];
  readonly variables?: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "a call and what it read; calls whose results nothing used are left out",
    steps: [
      list,
      call("get_weather", { city: "Oslo" }, "weather"),
      call("total", { of: "$orders[*].sum", note: "for ${orders[0].id}: $4" }, "sum"),
    ],
    from: { name: "sum" },
    calls: [
      ["list_orders", { status: "paid" }, "†state.orders"],
      ["total", { of: "†state.orders[*].sum", note: "for †state.orders[0].id: $4" }, "†state.sum"],
    ],
  },
  {
    name: "each version of a variable has its own place, with its name as the last key",
    steps: [
      list,
      call("total", { of: "$orders" }, "before"),
      call("edit_variable", { name: "orders", edits: [{ op: "remove", path: "/0" }] }, "orders"),
      call("pair", { a: "$before", b: "$orders" }, "both"),
    ],
    from: { name: "both" },
    calls: [
      ["list_orders", { status: "paid" }, "†state.orders"],
      ["total", { of: "†state.orders" }, "†state.before"],
      [
        "edit_variable",
        { name: "†state.orders", edits: [{ op: "remove", path: "/0" }] },
        "†state.v2.orders",
      ],
      ["pair", { a: "†state.before", b: "†state.v2.orders" }, "†state.both"],
    ],
  },
  {
    name: "what was given is an input",
    steps: [call("total", { of: "$sales" }, "sum")],
    from: { name: "sum" },
    known: ["sales"],
    calls: [["total", { of: "†input.sales" }, "†state.sum"]],
    inputs: [{ key: "sales", name: "sales" }],
  },
  {
    name: "what an input cannot hold stays a variable of the conversation",
    steps: [call("total", { of: "$sales.rows" }, "sum")],
    from: { name: "sum" },
    known: ["sales"],
    stays: ["sales"],
    calls: [["total", { of: "†sales.rows" }, "†state.sum"]],
    variables: ["sales"],
  },
  {
    name: "a value that was written by a call, then given",
    steps: [list, given("orders"), call("total", { of: "$orders" }, "sum")],
    from: { name: "sum" },
    calls: [["total", { of: "†input.orders" }, "†state.sum"]],
    inputs: [{ key: "orders", name: "orders" }],
  },
  {
    name: "a name that nothing has stays text, and a dagger that was text stays text",
    steps: [call("say", { text: "$nothing, \\$orders and †orders", all: "†input" }, "said")],
    from: { name: "said" },
    known: ["orders"],
    calls: [["say", { text: "$nothing, $orders and \\†orders", all: "\\†input" }, "†state.said"]],
  },
  {
    name: "a name that nothing had yet stays text",
    steps: [
      { ...call("say", { text: "$orders" }, "said"), unresolved: ["$orders"] },
      list,
      call("pair", { a: "$said", b: "$orders" }, "both"),
    ],
    from: { name: "both" },
    calls: [
      ["say", { text: "$orders" }, "†state.said"],
      ["list_orders", { status: "paid" }, "†state.orders"],
      ["pair", { a: "†state.said", b: "†state.orders" }, "†state.both"],
    ],
  },
  {
    name: "a reference before text that would become a part of it",
    steps: [list, call("say", { text: "${orders}s, ${orders[0].id}x" }, "said")],
    from: { name: "said" },
    calls: [
      ["list_orders", { status: "paid" }, "†state.orders"],
      ["say", { text: '†state["orders"]s, †state.orders[0]["id"]x' }, "†state.said"],
    ],
  },
  {
    name: "values of set_variable: made of references, or typed",
    steps: [
      list,
      call("set_variable", { name: "rate", value: 1.19 }, "rate"),
      call("set_variable", { name: "line", value: { all: "$orders", by: "$rate" } }, "line"),
    ],
    from: { name: "line" },
    calls: [
      ["list_orders", { status: "paid" }, "†state.orders"],
      ["set_variable", { value: { all: "†state.orders", by: "†input.rate" } }, "†state.line"],
    ],
    inputs: [{ key: "rate", name: "rate", call: "set_variable_rate", typed: 1.19 }],
  },
  {
    name: "a URL that a model typed stays the model's",
    steps: [
      call("set_variable", { name: "link", value: "see https://a.example" }, "link"),
      call("say", { text: "$link" }, "said"),
    ],
    from: { name: "said" },
    calls: [
      ["set_variable", { value: "see https://a.example" }, "†state.link"],
      ["say", { text: "†state.link" }, "†state.said"],
    ],
  },
  {
    name: "values that were added to, and begun",
    steps: [
      call("set_variable", { name: "log", value: ["$none"], mode: "append" }, "log"),
      list,
      call("set_variable", { name: "log", value: "$orders", mode: "append" }, "log"),
    ],
    from: { name: "log" },
    calls: [
      ["set_variable", { value: ["$none"] }, "†state.log"],
      ["list_orders", { status: "paid" }, "†state.orders"],
      [
        "set_variable",
        { name: "†state.log", value: "†state.orders", mode: "append" },
        "†state.v2.log",
      ],
    ],
  },
  {
    name: "code that returns, and code that assigns",
    steps: [
      list,
      call(
        "run_code",
        { code: "vars.n = 1; vars.m = `${orders}`", variables: ["orders"] },
        "vars:n",
        "vars:m",
      ),
      call("run_code", { code: "return vars.n", variables: ["n"] }, "code_1"),
      call("pair", { a: "$code_1", b: "$m" }, "both"),
    ],
    from: { name: "both" },
    calls: [
      ["list_orders", { status: "paid" }, "†state.orders"],
      [
        "run_code",
        { code: "vars.n = 1; vars.m = `${orders}`", variables: ["†state.orders"] },
        "†state.code",
      ],
      ["run_code", { code: "return vars.n", variables: ["†state.code.n"] }, "†state.code_1"],
      ["pair", { a: "†state.code_1", b: "†state.code.m" }, "†state.both"],
    ],
  },
  {
    name: "two places of one result",
    steps: [
      call("find", { id: 2 }, "user", "mail"),
      call("pair", { a: "$user", b: "$mail" }, "both"),
    ],
    from: { name: "both" },
    calls: [
      ["find", { id: 2 }, "†state.mail && †state.user"],
      ["pair", { a: "†state.user", b: "†state.mail" }, "†state.both"],
    ],
  },
  ...(
    [
      [
        "a part was written",
        call("set_variable", { name: "orders[0]", value: {}, mode: "merge" }, "orders[0]"),
      ],
      ["a part was written", call("find", { id: 1 }, "orders.first")],
      ["an edit was undone", call("edit_variable", { name: "orders", edits: "undo" }, "orders")],
      ["a part was written", call("edit_variable", { name: "orders[0]", edits: [] }, "orders[0]")],
      ["delegate has no place in a plan", call("delegate", { agent: "b", task: "c" }, "orders")],
      ["run_program has no place in a plan", call("run_program", { program: "b" }, "orders")],
    ] as const
  ).map(([why, step]) => ({
    name: `an input instead: ${why}`,
    steps: [list, step, call("total", { of: "$orders" }, "sum")],
    from: { name: "sum" },
    calls: [["total", { of: "†input.orders" }, "†state.sum"]] as const,
    inputs: [{ key: "orders", name: "orders", why, call: "id" in step ? step.id : "" }],
  })),
  {
    name: "a name that was deleted",
    steps: [
      list,
      call("delete_variable", { name: "orders" }),
      call("say", { text: "$orders" }, "said"),
    ],
    from: { name: "said" },
    calls: [["say", { text: "†input.orders" }, "†state.said"]],
    inputs: [{ key: "orders", name: "orders" }],
  },
  {
    name: "an answer is a template; references that were not replaced and code stay as they are",
    steps: [list, call("total", { of: "$orders" }, "sum")],
    from: answer("In 2026: $sum of $orders[7], 1,234 typed, `$sum`.", "$sum"),
    calls: [
      ["list_orders", { status: "paid" }, "†state.orders"],
      ["total", { of: "†state.orders" }, "†state.sum"],
      [
        "write_answer",
        { text: "In 2026: †state.sum of $orders[7], †input.figure typed, `$sum`." },
        "†state.answer",
      ],
    ],
    inputs: [{ key: "figure", typed: "1,234" }],
  },
];

describe("the calls that led to a value", () => {
  it.each(cases)("$name", ({ steps, from, known = [], stays = [], ...expected }) => {
    const slice = sliceCalls(steps, from, {
      syntaxes: ["dollar"],
      isKnown: (name) => known.includes(name),
      staysVariable: (name) => stays.includes(name),
    });
    expect(
      slice.calls.map(({ tool, parameters, outputPath }) => [tool, parameters, outputPath]),
    ).toEqual(expected.calls);
    expect(slice.inputs).toEqual(expected.inputs ?? []);
    expect(slice.variables).toEqual(expected.variables ?? []);
    expect(new Set(slice.calls.map(({ id }) => id)).size).toBe(slice.calls.length);
  });

  it.each([
    ["FROM $orders JOIN orders o, t", "FROM †state.orders JOIN †state.orders o, t"],
    ["x FROM t, orders WHERE a IN (1, orders)", "x FROM t, †state.orders WHERE a IN (1, orders)"],
    ["FROM (SELECT 1), orders", "FROM (SELECT 1), †state.orders"],
    ["FROM (orders JOIN `orders`)", "FROM (†state.orders JOIN †state.orders)"],
    ['FROM "orders", [orders]', "FROM †state.orders, †state.orders"],
    ["WITH orders(a) AS (SELECT 1) SELECT a FROM orders", undefined],
    ["FROM main.orders JOIN orders(1)", undefined],
    ["FROM t WHERE a IS DISTINCT FROM orders ORDER BY a, orders", undefined],
    // mapnik/mapnik#2718, haroya01/query-audit#112: texts and comments stay.
    ["'from orders' /* from orders */ FROM t -- from orders", undefined],
    ["'$orders', '''from $orders'", undefined],
    [`x > $orders[0]["a b"] FROM $orders`, `x > †state.orders[0]["a b"] FROM †state.orders`],
  ])("have the tables of a query as references: %s", (written, rewritten = written) => {
    const query = call("query_variables", { sql: `SELECT 0, ${written} -- $orders` }, "best");
    const options = { ...KNOWN, isKnown: () => false };
    const { calls } = sliceCalls([list, query], { name: "best" }, options);
    expect(calls.at(-1)?.parameters).toEqual({ sql: `SELECT 0, ${rewritten} -- $orders` });
  });

  it.each<[string, Syntaxes]>([
    ["$sales || $sales", ["dollar"]],
    ["${sales}.x", ["dollar"]],
    ["$sales && †sales", ["dollar", "dagger"]],
  ])("names what cannot be written: %s", (text, syntaxes) => {
    const steps = [call("say", { text }, "said")];
    const slice = () => sliceCalls(steps, { name: "said" }, { ...KNOWN, syntaxes });
    expect(slice).toThrow(/cannot be written here: put a space behind/u);
  });

  it("are written in linear time, whatever a text repeats", slow, () => {
    const text = "$sales ".repeat(150_000);
    const { calls } = sliceCalls([call("say", { text }, "said")], { name: "said" }, KNOWN);
    expect(calls[0]?.parameters).toEqual({ text: "†input.sales ".repeat(150_000) });
  });
});

const KNOWN = {
  syntaxes: ["dollar"] as const,
  isKnown: () => true,
  staysVariable: () => false,
};
