import { tool, type ToolSet, jsonSchema, type JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { slow } from "../../../test/support/slow.ts";
import { checkPlan } from "../src/plan/check-plan.ts";
import type { Plan, PlanCall } from "../../../src/turn/plan.ts";
import * as limits from "../../../src/limits.ts";
import { cases, planOf, planWith } from "../../../test/support/plans.ts";
import type { Json } from "../../../src/value/json.ts";

const any = z.object({ value: z.any() });
const tools: ToolSet = {
  echo: tool({ inputSchema: any, execute: ({ value }) => value as string }),
  add: tool({ inputSchema: z.object({ a: z.number(), b: z.number() }), execute: () => 0 }),
  verify: tool({ inputSchema: z.object({ userId: z.string() }), execute: () => "" }),
  fail: tool({ inputSchema: z.object({}), execute: () => "" }),
};
const context = { tools, isKnown: (name: string) => name === "orders" };

const plan = (calls: readonly Partial<PlanCall>[], about: Partial<Plan> = {}): Plan => {
  const numbered = calls.map((call, index) => ({
    id: `call_${index + 1}`,
    tool: "echo",
    parameters: { value: 1 },
    ...call,
  }));
  return planWith(numbered, about);
};
const reads = (source: string, outputPath?: string): Partial<PlanCall> => ({
  parameters: { value: source },
  ...(outputPath === undefined ? {} : { outputPath }),
});
const findingsOf = async (given: Plan) => (await checkPlan(given, context)).findings.list();
const codesOf = async (given: Plan) => (await findingsOf(given)).map(({ code }) => code);

it.each(cases.map((one) => [one.name, one] as const))(
  "a plan of the specification: %s",
  async (_, { calls, rejected = [] }) => {
    expect(await codesOf(planOf(calls))).toEqual(rejected);
  },
);

describe("a plan is refused", () => {
  it("for a reference that nothing writes, with its position; not for an existing variable", async () => {
    const nested = { parameters: { value: { list: [0, "Hi †nobody.name!"] } } };
    expect(await findingsOf(plan([nested]))).toMatchObject([
      {
        code: "no_producer",
        call: "call_1",
        at: "value.list.1",
        message: expect.stringContaining("†nobody.name"),
      },
    ]);
    expect(await codesOf(plan([reads("†orders[0].id"), reads("†input.anything")]))).toEqual([]);
    expect(await codesOf(plan([reads("†state.orders")]))).toEqual(["no_producer"]);
    const beside = [reads("x", "†state.user.name"), reads("†state.user.age")];
    expect(await codesOf(plan(beside))).toEqual(["no_producer"]);
    const alike = [reads("x", "†state.user"), reads("†state.username")];
    expect(await codesOf(plan(alike))).toEqual(["no_producer"]);
  });

  it.each([
    ["†state.a", "†state.a"],
    ["†state.a", "†state.a.b"],
    ["†state.a.b", "†state.a"],
    ["†state.x || †state.a", "†state.a && †state.y"],
    ["†state", "†state.deep.down"],
  ])("for two calls that write the same place: %s and %s", async (one, other) => {
    const findings = await findingsOf(plan([reads("x", one), reads("y", other)]));
    expect(findings).toMatchObject([{ code: "duplicate_producer", at: "_outputPath" }]);
  });

  it("for an unknown tool, with its name", async () => {
    expect(await findingsOf(plan([{ tool: "nope" }]))).toMatchObject([
      {
        code: "unknown_tool",
        call: "call_1",
        at: "_tool",
        message: "There is no tool nope. There are: echo, add, verify, fail.",
      },
    ]);
  });

  it("for parameters that do not fit, unless they are references", async () => {
    const call = { tool: "add", parameters: { a: "†input.a", b: "two" } };
    expect(await findingsOf(plan([call]))).toMatchObject([
      { code: "invalid_parameters", call: "call_1", at: "b" },
    ]);
    const lacking = { tool: "add", parameters: { a: "†input.a" } };
    expect(await codesOf(plan([lacking]))).toEqual(["invalid_parameters"]);
    const noText = { tool: "verify", parameters: { userId: 7 } };
    expect(await codesOf(plan([noText]))).toEqual(["invalid_parameters"]);
  });

  it("for duplicate ids, and for too many calls", async () => {
    expect(await codesOf(plan([{ id: "a" }, { id: "a" }]))).toEqual(["duplicate_id"]);
    const many = Array.from({ length: limits.maxPlanItems + 1 }, () => ({}));
    expect(await codesOf(plan(many))).toEqual(["too_many_calls"]);
  });

  // prettier-ignore
  it.each([
    "†state", "†state.a.b", "†rows[0]", "†state.a || †state.a.b", "† state.a", "†state.*", "state.a", "", "†input",
    "†input.x", "†state[0]", "†state.a[1].b", "†state.a && †state.a.b", "†state.a.b && †state.b && †state",
    "†state.", "†state..x", "†state.x ||", "†state.x || state.y", "†state.x && †input.y",
    "†state.x || † state.y", "†state.x || †state.y && †state.z", "Hello †state.x",
  ])("or accepted, depending on its output path: %j", async (outputPath) => {
    const places = ["†state", "†state.a.b", "†rows[0]", "†state.a || †state.a.b"];
    const isPlace = places.includes(outputPath);
    const codes = await codesOf(plan([reads("x", outputPath)]));
    expect(codes).toEqual(isPlace ? [] : ["bad_output_path"]);
  });

  it("for a cycle of one call or two hundred, with its path", async () => {
    const around = (count: number) =>
      plan(
        Array.from({ length: count }, (_, index) =>
          reads(`†state.s${(index + 1) % count}`, `†state.s${index}`),
        ),
      );
    const [finding] = await findingsOf(around(200));
    expect(finding?.code).toBe("cycle");
    expect(new Set(finding?.message.match(/call_\d+/gu)).size).toBe(200);
    expect((await findingsOf(around(1)))[0]?.message).toContain("call_1 → call_1");
    const throughPrefix = [reads("†state.b.deep", "†state.a.x"), reads("†state.a", "†state.b")];
    expect(await codesOf(plan(throughPrefix))).toEqual(["cycle"]);
  });
});

const written: Partial<Plan> = { order: "written", syntaxes: ["mustache"], runNames: ["x"] };

it("a plan that runs in written order is a chain, and may read places that no call has written yet, and write a place twice", async () => {
  const calls = [
    reads("{{x}} {{nobody}}", "variable:x"),
    reads("{{x}}", "variable:x"),
    { tool: "nope" },
  ];
  expect(await codesOf(plan(calls, written))).toEqual(["unknown_tool"]);
  const { checked } = await checkPlan(plan(calls.slice(0, 2), written), context);
  expect(checked?.calls.map(({ dependsOn }) => [...dependsOn])).toEqual([[], [0]]);
});

it("a plan may have a parameter of hundreds of thousands of elements", slow, async () => {
  const value = Array.from({ length: 400_000 }, () => 1);
  expect(await codesOf(plan([{ parameters: { value } }]))).toEqual([]);
});

const tiesOf = async (calls: readonly Partial<PlanCall>[]) => {
  const { checked } = await checkPlan(plan(calls), context);
  return checked?.calls.map(({ dependsOn }) => [...dependsOn].sort());
};

it("a dependency between calls is a write of the place that is read, of a place that contains it, or of a part of it", async () => {
  const writes = [reads("x", "†state.a.b"), reads("y", "†state.c")];
  expect(await tiesOf([...writes, reads("†state.a.b")])).toEqual([[], [], [0]]);
  expect(await tiesOf([...writes, reads("†state.a.b[0].c")])).toEqual([[], [], [0]]);
  expect(await tiesOf([...writes, reads("†state.a")])).toEqual([[], [], [0]]);
  expect(await tiesOf([...writes, reads("†state")])).toEqual([[], [], [0, 1]]);
  expect(await tiesOf([...writes, reads("†state.c and †state.a.b")])).toEqual([[], [], [0, 1]]);
  expect(await tiesOf([reads("x", "†rows[0]"), reads("†rows[*].id"), reads("†rows[-1]")])).toEqual([
    [],
    [0],
    [0],
  ]);
});

describe("a gate", () => {
  it.each([
    "†approvals.legal",
    "Once †approvals.legal.",
    "(†approvals.legal), then †approvals.tax!",
    "†approvals.legal || †approvals.tax",
    '†approvals["two words"]',
    "\\†approvals.legal is how it is written",
    "approvals",
  ])("may be written as %s", async (source) => {
    expect(await codesOf(plan([reads(source)]))).toEqual([]);
  });

  it.each([
    "†approvals",
    "†approvals.über",
    "†approvals.legalü",
    "†approvals.legal-x",
    "†approvals.legal.x",
    "†approvals.*",
    "†approvals[0]",
    "†approvals[*]",
    // No URL can have these names.
    '†approvals[""]',
    '†approvals[".."]',
    '†approvals["\ud800"]',
    "†approvals.-x",
    "† approvals.x",
    "†\napprovals.x",
    "Wait for † approvals.x.",
    "†approvals.legal and †approvals",
    `†approvals.${"x".repeat(600)}`,
    "†approvals.a || †input.b && †approvals.c",
  ])("may not be written as %s", async (source) => {
    expect(await findingsOf(plan([{ parameters: { value: { deep: [source] } } }]))).toMatchObject([
      { code: "bad_reference", call: "call_1", at: "value.deep.0" },
    ]);
  });

  it("cannot be opened by a call", async () => {
    const findings = await findingsOf(plan([reads("x", "†approvals.legal")]));
    expect(findings).toMatchObject([{ code: "bad_output_path", call: "call_1" }]);
  });
});

const typed: ToolSet = {
  typed: tool({
    inputSchema: z.object({
      text: z.string().max(3).optional(),
      one: z.enum(["a", "b"]).optional(),
      either: z.union([z.string(), z.number()]).optional(),
      number: z.number().optional(),
      flags: z.array(z.boolean()).optional(),
      none: z.union([z.number(), z.null()]).optional(),
      deep: z.object({ list: z.array(z.int()) }).optional(),
    }),
    execute: () => "",
  }),
};
const placesOf = async (parameters: PlanCall["parameters"]) => {
  const { findings } = await checkPlan(plan([{ tool: "typed", parameters }]), {
    ...context,
    tools: typed,
  });
  return findings.list().map(({ code, at }) => [code, at]);
};

it.each([
  [{ text: "a †input.b" }, []],
  [{ one: "†input.b" }, []],
  [{ one: "a†input.b" }, []],
  [{ either: "a †input.b" }, []],
  [{ number: "†input.b" }, []],
  [{ number: "†input.a || †input.b" }, []],
  [{ number: "1†input.b" }, ["number"]],
  [{ flags: "†input.b!" }, ["flags"]],
  [{ none: "†input.b!" }, ["none"]],
  [{ deep: "†input.b!" }, ["deep"]],
  [{ deep: { list: [1, "†input.b", "†input.b!"] } }, ["deep.list.2"]],
] as const)("a reference with surrounding text is a text: %j", async (parameters, places) => {
  const expected = places.map((at) => ["invalid_parameters", at]);
  expect(await placesOf(parameters)).toEqual(expected);
});

const text: JSONSchema7 = { type: "string" };
const schema: JSONSchema7 = {
  type: "object",
  properties: {
    city: text,
    days: { type: "integer", minimum: 1 },
    unit: { enum: ["c", "f"] },
    tree: { $ref: "#/$defs/node" },
    either: { anyOf: [{ type: "number" }, { type: "array", items: text }] },
    one: { oneOf: [{ const: 1 }, { $ref: "https://elsewhere/schema" }] },
    pair: { prefixItems: [text], items: { type: "number" } } as JSONSchema7,
    odd: { minLength: "x", pattern: "^b" } as unknown as JSONSchema7,
    named: { type: "object", patternProperties: { "^x": {} }, additionalProperties: false },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: {
    node: {
      type: "object",
      properties: { name: text, inner: { $ref: "#/$defs/node" } },
      required: ["name"],
    },
  },
};

async function unfitting(parameters: Readonly<Record<string, Json>>, of = schema) {
  const tools = { weather: { inputSchema: jsonSchema(of) } };
  const plan = planOf([{ _tool: "weather", ...parameters }]);
  const { findings } = await checkPlan(plan, { tools, isKnown: () => true });
  return findings.list().map(({ code, at }) => [code, at]);
}

describe("parameters of a tool with a JSON Schema but no validator, such as an MCP server's", () => {
  it.each<readonly [Readonly<Record<string, Json>>, readonly string[]]>([
    [{ city: "Oslo", days: 2, unit: "c" }, []],
    [{}, ["city"]],
    [{ city: 5, days: 1.5 }, ["city", "days"]],
    [{ city: "†input.city", days: 0, unit: "k" }, ["days", "unit"]],
    [{ city: "Oslo", town: "Oslo" }, ["town"]],
    [{ city: "Oslo", tree: { name: "a", inner: { name: 5 } } }, ["tree.inner.name"]],
    [{ city: "Oslo", tree: "†input.tree" }, []],
    [{ city: "Oslo", tree: { name: "†input.name", inner: {} } }, ["tree.inner.name"]],
    [{ city: "Oslo", either: ["a", 1] }, ["either"]],
    [{ city: "Oslo", either: ["a", "†input.b"] }, []],
  ])("are checked: %j", async (parameters, places) => {
    expect(await unfitting(parameters)).toEqual(places.map((at) => ["invalid_parameters", at]));
  });

  it.each<Readonly<Record<string, Json>>>([
    { one: 2 },
    { pair: ["a", 1] },
    { odd: "a" },
    { named: { xa: 1 } },
  ])("pass if the schema uses keywords that are not checked: %j", async (parameters) => {
    expect(await unfitting({ city: "Oslo", ...parameters })).toEqual([]);
  });
});
