import { describe, expect, it } from "vitest";
import { checkPlan } from "../../plans/src/plan/check-plan.ts";
import type { RunRecord } from "../../plans/src/plan/plan-record.ts";
import { tool, type ToolSet } from "ai";
import * as z from "zod";
import { withKnownTools, readCapabilities } from "../src/capability/capability-workflows.ts";
import type { Plan } from "../../../src/turn/plan.ts";
import { variableCapability } from "../src/capability/variable-capability.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { wrapTools } from "../../../src/tool/tool-call.ts";
import type { Json } from "../../../src/value/json.ts";
import { checkedPlan, planRun, runRecord } from "../../../test/support/plan-runs.ts";

/** The name and input of a tool call, in call order. */
type Called = readonly [name: string, input: unknown];

/** A conversation in which workflows run. */
class Workflows {
  readonly called: Called[] = [];
  readonly #tools: ToolSet;

  constructor(
    answers: Readonly<Record<string, (input: Readonly<Record<string, string>>) => Json>>,
  ) {
    const recorded = Object.entries(answers).map(([name, answer]) => {
      const execute = (input: Readonly<Record<string, string>>) => {
        this.called.push([name, input]);
        return answer(input);
      };
      return [name, tool({ inputSchema: z.record(z.string(), z.any()), execute })] as const;
    });
    this.#tools = Object.fromEntries(recorded);
  }

  /** Runs a workflow to its end. */
  readonly run = async (xml: string): Promise<RunRecord> => {
    const store = new MemoryStore();
    const { plan, findings } = readCapabilities(xml);
    if (plan === undefined) throw new Error(JSON.stringify(findings));
    const owner = "run_1";
    const options = { store, syntaxes: plan.syntaxes, owner };
    const own = await wrapTools(variableCapability, options);
    const shown = Object.fromEntries(Array.from(own, ([name, { shown }]) => [name, shown]));
    const tools = { ...this.#tools, ...shown };
    const known = await withKnownTools(plan, tools);
    const run = planRun({
      checked: await checkedPlan(known, { tools, isKnown: () => false }),
      record: runRecord(owner),
      store,
      tools: new Map([...(await wrapTools(this.#tools, options)), ...own]),
    });
    return run.run();
  };
}

const echo = (input: Readonly<Record<string, string>>) => input["content"] ?? "";
const statusesOf = ({ calls }: RunRecord) => Object.values(calls).map(({ status }) => status);

describe("a workflow", () => {
  it("continues after a missing key, and can use the message about it", async () => {
    const { run, called } = new Workflows({ echo });
    const record = await run(`
      <capability name="variable" action="get" key="nobody" />
      <capability name="variable" action="get" key="nobody" output_var="found" />
      <capability name="variable" action="clear" key="nobody" />
      <capability name="echo">{{found}}</capability>`);
    expect(called).toEqual([["echo", { content: "Variable not found: nobody" }]]);
    expect(statusesOf(record)).toEqual(["done", "done", "done", "done"]);
  });

  it("skips direct and indirect readers of a failed call's output; the rest runs", async () => {
    const failing = () => {
      throw new Error("boom");
    };
    const { run, called } = new Workflows({ echo, failing });
    const record = await run(`
      <capability name="echo" output_var="a">1</capability>
      <capability name="failing" output_var="b">{{a}}</capability>
      <capability name="echo" output_var="c">{{a}} {{b}}</capability>
      <capability name="variable" action="interpolate" output_var="d">{{nobody}} {{c.deep}}</capability>
      <capability name="echo">{{nobody}} {{a}}</capability>`);
    expect(called.map(([, input]) => input)).toEqual([
      { content: "1" },
      { content: "1" },
      { content: "{{nobody}} 1" },
    ]);
    expect(statusesOf(record)).toEqual(["done", "failed", "skipped", "skipped", "done"]);
    expect(record.calls["call_2"]?.reason).toBe("tool_failed: boom");
    expect(record.calls["call_3"]?.reason).toBe("{{b}} is not there: call_2 failed.");
    expect(record.calls["call_4"]?.reason).toBe("{{c.deep}} is not there: call_3 was skipped.");
    expect(record.status).toBe("failed");
  });

  it("does not read references or tags in values", async () => {
    const looks = '{{b}} $b †b <capability name="echo" />]]>&lt;';
    const { run, called } = new Workflows({ echo, give: () => looks });
    await run(`
      <capability name="echo" output_var="b">secret</capability>
      <capability name="give" output_var="a" />
      <capability name="variable" action="interpolate" output_var="c">{{a}}</capability>
      <capability name="echo">{{a}}|{{c}}</capability>`);
    expect(called.at(-1)).toEqual(["echo", { content: `${looks}|${looks}` }]);
  });
});

describe("the tools of a workflow", () => {
  const planOf = (xml: string): Plan => {
    const { plan } = readCapabilities(xml);
    if (plan === undefined) throw new Error("No plan.");
    return plan;
  };
  const taking = (shape: z.ZodRawShape): ToolSet[string] =>
    tool({ inputSchema: z.object(shape), execute: () => null });
  const known = async (xml: string, tools: ToolSet) =>
    (await withKnownTools(planOf(xml), tools)).calls.map(({ tool, parameters }) => [
      tool,
      parameters,
    ]);
  const web = '<capability name="web" action="generate" lines="3">x</capability>';

  it("are found by name and action, or by a name whose tool takes the action", async () => {
    const both = { web_generate: taking({}), web: taking({ action: z.string() }) };
    expect(await known(web, both)).toEqual([["web_generate", { lines: "3", content: "x" }]]);
    const tools = { web: both.web };
    const taken = { action: "generate", lines: "3", _body: "x" };
    expect(await known(web, tools)).toEqual([["web", taken]]);
    const plan = await withKnownTools(planOf(web), tools);
    const { findings } = await checkPlan(plan, { tools, isKnown: () => false });
    expect(findings.list()).toMatchObject([{ code: "invalid_parameters", at: "content" }]);
    const parts = '<capability name="a_b" action="c_d" />';
    const action = taking({ action: z.enum(["c_d", "d"]) });
    expect(await known(parts, { a_b: action, a: action })).toEqual([["a_b", { action: "c_d" }]]);
  });

  it("are found by name alone if they take no action", async () => {
    expect(await known(web, { web: taking({ content: z.string() }) })).toEqual([
      ["web", { lines: "3", content: "x" }],
    ]);
    const whole = '<capability name="web_generate" />';
    expect(await known(whole, { web: taking({}) })).toEqual([["web_generate", {}]]);
    const rename = '<capability name="rename" id="7">{"name": "b", "tags": ["{{x}}"]}</capability>';
    const parameters = { id: "7", name: "b", tags: ["{{x}}"] };
    const named = { rename: taking({ id: z.string(), name: z.string(), tags: z.any() }) };
    expect(await known(rename, named)).toEqual([["rename", parameters]]);
    const { calls } = await withKnownTools(planOf(web), {});
    expect(calls[0]).not.toHaveProperty("capability");
  });
});
