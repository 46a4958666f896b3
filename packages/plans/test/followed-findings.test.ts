import { jsonSchema, tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { checkPlan } from "../src/plan/check-plan.ts";
import { readJsonPlan } from "../src/plan/json-plan.ts";
import type { Finding, FindingCode } from "../src/plan/findings.ts";
import type { Json } from "../../../src/value/json.ts";

type Call = Readonly<Record<string, Json>>;

const tools: ToolSet = {
  echo: tool({ inputSchema: z.object({ value: z.any() }), execute: () => "" }),
  add: tool({ inputSchema: z.object({ a: z.number(), b: z.number() }), execute: () => 0 }),
  close: tool({ inputSchema: z.strictObject({ id: z.string() }), execute: () => "" }),
  served: tool({
    inputSchema: jsonSchema({
      type: "object",
      properties: { limit: { anyOf: [{ type: "integer" }, { type: "null" }] } },
      additionalProperties: false,
    }),
    execute: () => "",
  }),
};

async function findingsOf(calls: readonly Call[]): Promise<readonly Finding[]> {
  const { plan, findings } = readJsonPlan({ calls });
  if (plan === undefined) return findings;
  const context = { tools, isKnown: (name: string) => name === "orders" };
  return (await checkPlan(plan, context)).findings.list();
}

const echo = (value: Json, more: Call = {}): Call => ({ _tool: "echo", value, ...more });

const plans: readonly (readonly [FindingCode, readonly Call[]])[] = [
  ["bad_plan", [echo(1, { _outputpath: "†a" })]],
  ["bad_plan", [{ value: 1 }]],
  ["unknown_tool", [{ ...echo(1), _tool: "ecko" }]],
  ["unknown_tool", [{ ...echo(1), _tool: "zzz" }]],
  ["duplicate_id", [echo(1, { _id: "a" }), echo(2, { _id: "a" })]],
  ["invalid_parameters", [{ _tool: "add", a: 1, b: "2" }]],
  ["invalid_parameters", [{ _tool: "add", a: "†orders[0].total or so", b: 1 }]],
  ["invalid_parameters", [{ _tool: "close", id: "o1", ids: ["o1"] }]],
  ["invalid_parameters", [{ _tool: "served", limits: 3 }]],
  ["invalid_parameters", [{ _tool: "served", limit: "3" }]],
  ["bad_reference", [echo("$orders[0].id")]],
  ["bad_reference", [echo("All of †approvals.legal.team")]],
  ["bad_reference", [echo(1, { _after: "legal" })]],
  ["no_producer", [echo(1, { _outputPath: "†state.user" }), echo("†state.users")]],
  ["no_producer", [echo("†customer.name"), echo(2)]],
  ["duplicate_producer", [echo(1, { _outputPath: "†a" }), echo(2, { _outputPath: "†a" })]],
  ["bad_output_path", [echo(1, { _outputPath: "†approvals.legal" })]],
  ["bad_output_path", [echo(1, { _outputPath: "†a && †a" })]],
  ["cycle", [echo("†b", { _outputPath: "†a" }), echo("†a", { _outputPath: "†b" })]],
  ["cycle", [echo("and †a", { _outputPath: "†a" })]],
];

describe("a model that follows a finding's text literally", () => {
  it.each(plans)("has a valid plan in one step: %s %j", async (code, calls) => {
    const [finding, ...others] = await findingsOf(calls);
    expect([finding?.code, others]).toEqual([code, []]);
    const next = followed(calls, finding as Finding);
    expect(next, finding?.message).not.toEqual(calls);
    expect(await findingsOf(next), `${finding?.message} -> ${JSON.stringify(next)}`).toEqual([]);
  });

  it("is told to split a plan that is too long", async () => {
    const [finding] = await findingsOf(Array.from({ length: 1_001 }, () => echo(1)));
    expect(finding?.message).toMatch(
      /at most \d+ calls, this one 1001: split it into several plans\./u,
    );
  });
});

interface Rule {
  readonly says: RegExp;
  /** Returns the corrected call. */
  next(call: Call, found: readonly string[], finding: Finding): Call;
}

/** Corrects one call, using only the text of the finding. */
function followed(calls: readonly Call[], finding: Finding): readonly Call[] {
  const { message, call: id } = finding;
  for (const { says, next } of rules) {
    const found = says.exec(message)?.slice(1).map(String);
    if (found === undefined) continue;
    // The text says that another call must write the place: the last one.
    if (message.includes("Give the call that makes it")) {
      return calls.map((call, index) =>
        index === calls.length - 1 ? next(call, found, finding) : call,
      );
    }
    const named = calls.findLastIndex((call, index) => (call._id ?? `call_${index + 1}`) === id);
    return calls.map((call, index) => (index === named ? next(call, found, finding) : call));
  }
  return calls;
}

const at = ({ at: place = "" }: Finding) => place;

function without(call: Call, key: string): Call {
  return Object.fromEntries(Object.entries(call).filter(([own]) => own !== key));
}

function replaced(call: Call, wrong: string, right: string): Call {
  return JSON.parse(JSON.stringify(call).replaceAll(wrong, right)) as Call;
}

const EXAMPLES: Readonly<Record<string, Json>> = { number: 1, integer: 1, string: "echo" };

const rules: readonly Rule[] = [
  {
    says: /There is no key (\w+); the nearest is (\w+)\./u,
    next: (call, [wrong = "", right = ""]) => replaced(call, `"${wrong}"`, `"${right}"`),
  },
  {
    says: /There is no tool \S+ (?:Did you mean|There are): (\w+)/u,
    next: (call, [right = ""]) => ({ ...call, _tool: right }),
  },
  { says: /Give each call its own, or none\./u, next: (call) => without(call, "_id") },
  {
    says: /Write the reference alone\./u,
    next: (call, _, finding) => ({
      ...call,
      [at(finding)]: /†\S+/u.exec(String(call[at(finding)]))?.[0] ?? "",
    }),
  },
  { says: /Unrecognized key: "(\w+)"/u, next: (call, [key = ""]) => without(call, key) },
  { says: /: remove it\./u, next: (call, _, finding) => without(call, at(finding)) },
  {
    says: /(?:expected|must be) (number|integer|string)/u,
    next: (call, [type = ""], finding) => ({ ...call, [at(finding)]: EXAMPLES[type] ?? null }),
  },
  {
    says: /write (†[\w.[\]]+), not (\$[\w.[\]]+)\./u,
    next: (call, [right = "", wrong = ""]) => replaced(call, wrong, right),
  },
  {
    says: /(?:is written|write) (†approvals)\.name/u,
    next: (call, [gates = ""], finding) => ({ ...call, [at(finding)]: `${gates}.name` }),
  },
  {
    says: /Nothing writes (\S+), .*Did you mean (†\S+)\?/u,
    next: (call, [wrong = "", right = ""]) => replaced(call, wrong, right),
  },
  {
    says: /Give the call that makes it _outputPath "(\S+)"\./u,
    next: (call, [place = ""]) => ({ ...call, _outputPath: place }),
  },
  {
    says: /(†\S+) is written by .*; give each its own place\./u,
    next: (call, [place = ""]) => ({ ...call, _outputPath: `${place}_2` }),
  },
  {
    says: /write to another place, as (†\S+)\.$/u,
    next: (call, [place = ""]) => ({ ...call, _outputPath: place }),
  },
  {
    says: /(†\S+) is named twice: remove one\./u,
    next: (call, [place = ""]) => ({ ...call, _outputPath: place }),
  },
  {
    says: /Remove one of the references, such as (\S+) in /u,
    next: (call, [source = ""]) => ({ ...replaced(call, source, ""), ...outputOf(call) }),
  },
];

function outputOf({ _outputPath: path }: Call): Call {
  return path === undefined ? {} : { _outputPath: path };
}
