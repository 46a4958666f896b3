import type { ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { codeTool } from "../../../code/src/code-tool.ts";
import type { CodeOptions } from "../../../../src/turn/toolbox.ts";
import { evaluatingSandbox } from "../../../../test/support/evaluating-sandbox.ts";
import type { Json } from "../../../../src/value/json.ts";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  payingPlanner,
  planning,
  planTools,
  runOf,
  variable,
} from "../../../../test/support/planning.ts";
import type { Step } from "../../../testing/src/testing.ts";
import { planView } from "../../src/http/plan-view.ts";
import { total } from "./program-runs.ts";

const ROOT = "/conversations/c/plans";
const { tools: paying, policy } = payingPlanner();
// An agent's own tool of this name is not the one of programs.
const tools = { ...paying, total, write_answer: planTools()["fail"] } as ToolSet;
const call = (name: string, input: object) => ({ tool: name, input });

const steps: readonly Step[] = [
  [
    call("total", { rows: "$sales", _outputPath: "$totals" }),
    call("fail", {}),
    call("echo", { value: 1 }),
  ],
  call("echo", { value: { all: "$totals.sum" }, _outputPath: "$report" }),
  "The total of 2026 is $totals.sum, 99 more than before.",
];

/** Answers the question. `query`: how the sales are saved. */
function talking(work: (own: OwnRuntime) => Promise<void>, query = "", more: object = {}) {
  const agent = { outputPath: true, policy, ...more };
  return withRuntime(planning(tools, { agent, steps }), async (own) => {
    const path = `/conversations/c/variables/sales${query}`;
    await own.call("PUT", path, json([{ sum: 1 }, { sum: 2 }]));
    const message = "What is the total of 2026?";
    await (await own.call("POST", "/conversations/c/messages", json({ message }))).text();
    await work(own);
  });
}

async function madeFrom(own: OwnRuntime, from: string) {
  const response = await own.call("POST", ROOT, json({ from }));
  const body: unknown = await response.json();
  expect(body).toMatchObject({ status: "proposed" });
  const plan = planView().parse(body);
  await own.call("POST", `${ROOT}/${plan.id}/approve`);
  return plan;
}

async function answerId(own: OwnRuntime): Promise<string> {
  const response = await own.call("GET", "/conversations/c/messages");
  const { messages } = await response.json<{ messages: { id: string; role: string }[] }>();
  return messages.find(({ role }) => role === "assistant")?.id ?? "";
}

describe("a plan made from a conversation", () => {
  it("writes an answer with the new values; what the model typed is an input", () =>
    talking(async (own) => {
      const plan = await madeFrom(own, await answerId(own));
      expect(plan.findings).toMatchObject([{ code: "became_input", at: "input.figure" }]);
      const wrong = json({ input: { sales: [{ total: 40 }] } });
      const refused = await own.call("POST", `${ROOT}/${plan.id}/run`, wrong);
      expect(await refused.json()).toMatchObject({ code: "invalid_plan" });
      const texts: unknown[] = [];
      for (const input of [{}, { sales: [{ sum: 40 }], figure: "7" }]) {
        const { state } = await runOf(own, plan.id, { input });
        texts.push((state as Record<string, Json>)["answer"]);
      }
      expect(texts).toEqual([
        "The total of 2026 is 3, 99 more than before.",
        "The total of 2026 is 40, 7 more than before.",
      ]);
    }));

  it("reads a sealed value where it is, and what is made of it stays sealed", () =>
    talking(async (own) => {
      const plan = await madeFrom(own, "$report");
      expect(plan.findings).toMatchObject([{ code: "kept_variable" }]);
      expect(plan.input).toBeUndefined();
      expect((await runOf(own, plan.id)).status).toBe("done");
      expect(await variable(own, "state/info")).toMatchObject({ visibility: "sealed" });
    }, "?visibility=sealed"));

  it.each(["$report", "answer"])("is tainted if the model that wrote %s was", (from) => {
    const policies = { total: { trusted: false } };
    const check = async (own: OwnRuntime) =>
      expect(await madeFrom(own, from === "answer" ? await answerId(own) : from)).toMatchObject({
        tainted: true,
      });
    return talking(async (own) => void (await check(own)), "", { policies });
  });

  it("runs code on the results of other calls", () => {
    const code: readonly Step[] = [
      call("total", { rows: "$sales", _outputPath: "$totals" }),
      call("run_code", { code: "vars.twice = totals.sum * 2;", variables: ["totals"] }),
      call("run_code", { code: "return [vars, twice].length + twice;", variables: ["twice"] }),
      call("echo", { value: "$run_code_1", _outputPath: "$report" }),
      "Done.",
    ];
    const options = {
      ...planning(tools, { agent: { outputPath: true }, steps: code }),
      code: () => (given: CodeOptions) => codeTool({ ...given, sandbox: evaluatingSandbox }),
    };
    return withRuntime(options, async (own) => {
      await own.call("PUT", "/conversations/c/variables/sales", json([{ sum: 4 }]));
      await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
      const plan = await madeFrom(own, "$report");
      expect(plan.calls.map(({ _tool, _outputPath }) => [_tool, _outputPath])).toEqual([
        ["total", "†state.totals"],
        ["run_code", "†state.code"],
        ["run_code", "†state.run_code_1"],
        ["echo", "†state.report"],
      ]);
      expect((await runOf(own, plan.id)).state).toMatchObject({ report: 10 });
      const other = { input: { sales: [{ sum: 1 }] } };
      expect((await runOf(own, plan.id, other)).state).toMatchObject({ report: 4 });
    });
  });

  it("has inputs of any name", () => {
    const copy = call("echo", { value: "$__proto__", _outputPath: "$report" });
    const options = planning(tools, { agent: { outputPath: true }, steps: [copy, "Done."] });
    return withRuntime(options, async (own) => {
      await own.call("PUT", "/conversations/c/variables/__proto__", json([4]));
      await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
      const plan = await madeFrom(own, "$report");
      expect((await runOf(own, plan.id)).state).toEqual({ report: [4] });
    });
  });

  it("names what cannot be in it", () =>
    talking(async (own) => {
      const refusal = async (body: object) => {
        const response = await own.call("POST", ROOT, json(body));
        return [response.status, ((await response.json()) as { code: string }).code];
      };
      expect(await refusal({ from: "$none" })).toEqual([404, "variable_not_found"]);
      expect(await refusal({ from: "no-such-message" })).toEqual([404, "not_found"]);
      expect(await refusal({ from: "$sales" })).toEqual([422, "invalid_plan"]);
      expect(await refusal({ from: "$report", calls: [] })).toEqual([400, "bad_request"]);
      await own.call("DELETE", "/conversations/c/variables/sales");
      const { input } = await madeFrom(own, "$report");
      expect(input).toMatchObject({ required: ["sales"] });
      own.wakeAgain(planning(paying));
      const gone = await own.call("POST", ROOT, json({ from: "$report" }));
      expect(await gone.json()).toMatchObject({
        findings: [{ code: "unknown_tool", call: "totals", at: "_tool" }],
      });
    }));
});
