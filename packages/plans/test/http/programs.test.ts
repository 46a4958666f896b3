import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../../../src/edge/create-runtime.ts";
import type { ErrorCode } from "../../../../src/errors.ts";
import type { Json } from "../../../../src/value/json.ts";
import { json, problemIn } from "../../../../test/support/edge.ts";
import { NodeRuntime } from "../../../../test/support/node-runtime.ts";
import { kept, payingPlanner, planning } from "../../../../test/support/planning.ts";
import type { Step } from "../../../testing/src/testing.ts";
import { approve, look, ran, runsOf, total } from "./program-runs.ts";

const steps: readonly Step[] = [
  { tool: "total", input: { rows: "$sales", _outputPath: "$totals" } },
  "The total is $totals.sum.",
];

function programming(more: Partial<RuntimeOptions> = {}) {
  const { tools, policy, paid } = payingPlanner();
  const agent = { outputPath: true, policy };
  const options = { ...planning({ ...tools, total }, { agent, steps }), ...more };
  return { runtime: new NodeRuntime(options), options, paid };
}

/** Asks a question whose answer is made from `$sales`. Returns the answer's id. */
async function answered({ ask }: NodeRuntime, sales = [1, 2], query = ""): Promise<string> {
  const rows = sales.map((one) => ({ sum: one }));
  await ask("PUT", `/conversations/c/variables/sales${query}`, json(rows));
  await (await ask("POST", "/conversations/c/messages", json({ message: "Total?" }))).text();
  const response = await ask("GET", "/conversations/c/messages");
  const { messages } = (await response.json()) as { messages: { id: string; role: string }[] };
  return messages.find(({ role }) => role === "assistant")?.id ?? "";
}

const echo = (value: Json) => ({
  input: { type: "object", properties: { value: { type: "number", default: 1 } } },
  calls: [{ _tool: "echo", value, _outputPath: "†state.out" }],
});

describe("a program", () => {
  it("is made from an answer, and writes it again for other data, as JSON or text", async () => {
    const { runtime } = programming();
    const from = await answered(runtime);
    const program = await kept(runtime, "total", { conversation: "c", from });
    expect(program).toMatchObject({
      version: 1,
      agent: "planner",
      input: { properties: { sales: { default: [{ sum: 1 }, { sum: 2 }] } } },
      calls: [{ _tool: "total" }, { _tool: "write_answer" }],
    });
    expect(await ran(runtime, "total")).toMatchObject({
      status: "done",
      cause: "request",
      text: "The total is 3.",
      state: { totals: { sum: 3 } },
    });
    const init = json({ input: { sales: [{ sum: 40 }] } }, { accept: "text/plain" });
    const response = await runtime.ask("POST", "/programs/total/runs", init);
    expect(await response.text()).toBe("The total is 40.");
    expect(await runsOf(runtime, "total")).toMatchObject([
      { status: "done", input: { sales: [{ sum: 40 }] }, ms: expect.any(Number) },
      { status: "done", input: { sales: [{ sum: 1 }, { sum: 2 }] } },
    ]);
  });

  it("keeps its versions, and runs each", async () => {
    const { runtime } = programming();
    const checked = await runtime.ask("PUT", "/programs/p?check=true", json(echo(7)));
    expect(await checked.json()).toMatchObject({ version: 1, versions: [] });
    await problemIn(await runtime.ask("GET", "/programs/p"), "not_found");
    await kept(runtime, "p", echo("†input.value"));
    expect(await kept(runtime, "p", echo("†input.value"))).toMatchObject({ version: 1 });
    expect(await kept(runtime, "p", echo(7))).toMatchObject({ versions: [1, 2] });
    expect((await ran(runtime, "p")).state).toEqual({ out: 7 });
    const old = await ran(runtime, "p", json({ version: 1, input: { value: 5 } }));
    expect(old.state).toEqual({ out: 5 });
    const first = await runtime.ask("GET", "/programs/p?version=1");
    expect(await first.json()).toMatchObject({ version: 1, plan: echo("†input.value") });
    const list = await runtime.ask("GET", "/programs");
    expect(await list.json()).toMatchObject({ programs: [{ name: "p", version: 2 }] });
    expect((await runtime.ask("DELETE", "/programs/p")).status).toBe(204);
    await problemIn(await runtime.ask("GET", "/programs/p"), "not_found");
  });

  it("has no runs of an earlier program of its name, and one input for each key", async () => {
    const { runtime } = programming();
    const keyed = (input: object) => json({ input }, { "idempotency-key": "k" });
    await kept(runtime, "p", echo(1));
    expect((await ran(runtime, "p", keyed({}))).state).toEqual({ out: 1 });
    await runtime.ask("DELETE", "/programs/p");
    await kept(runtime, "p", echo("†input.value"));
    expect((await ran(runtime, "p", keyed({ value: 2, a: 1 }))).state).toEqual({ out: 2 });
    // A client that sends it again may order its keys otherwise.
    expect((await ran(runtime, "p", keyed({ a: 1, value: 2 }))).state).toEqual({ out: 2 });
    await kept(runtime, "p", echo(3));
    const old = json({ input: { value: 2, a: 1 }, version: 2 }, { "idempotency-key": "k" });
    await problemIn(await runtime.ask("POST", "/programs/p/runs", old), "idempotency_mismatch");
    // Newer runs have taken its place in the history: agentruntimecontrolprotocol/swift-sdk#72.
    runtime.directoryNamed().sql.run(`DELETE FROM program_run`);
    const other = await runtime.ask("POST", "/programs/p/runs", keyed({ value: 3 }));
    await problemIn(other, "idempotency_mismatch");
    runtime.directoryNamed().sql.run(`DELETE FROM program_run`);
    expect((await ran(runtime, "p", keyed({ a: 1, value: 2 }))).state).toEqual({ out: 2 });
  });

  it("needs approval for each run; the list shows it after the decision", async () => {
    const { runtime, paid } = programming();
    const calls = [{ _tool: "pay", amount: 5, _outputPath: "†state.paid" }];
    await kept(runtime, "pay", { calls });
    const run = await ran(runtime, "pay");
    expect(run).toMatchObject({ status: "waiting", calls: [{ status: "waiting" }] });
    const asText = json({}, { accept: "text/plain" });
    await problemIn(await runtime.ask("POST", "/programs/pay/runs", asText), "approval_required");
    expect(paid).toEqual([]);
    await approve(runtime, run.conversation, run.calls?.[0]?.gate);
    const one = await look(runtime, "pay", run.id);
    expect(one).toMatchObject({ status: "done", state: { paid: { paid: 5 } } });
    expect(paid).toEqual([5]);
  });

  it("asks for what a default cannot hold: a guarded or long value is an input of each run", async () => {
    const long = Array.from({ length: 10_000 }, (_, index) => index);
    for (const [sales, query] of [[[1], "?visibility=sealed"] as const, [long, ""] as const]) {
      const { runtime } = programming();
      const from = await answered(runtime, [...sales], query);
      const { input, plan } = await kept(runtime, "t", { conversation: "c", from });
      expect([query, input]).toMatchObject([query, { required: ["sales"] }]);
      expect(JSON.stringify(plan)).not.toContain('"default"');
      await problemIn(await runtime.ask("POST", "/programs/t/runs"), "invalid_plan");
    }
  });

  it("names what is wrong, and stores nothing", async () => {
    const { runtime } = programming();
    await kept(runtime, "p", echo("†input.value"));
    const text = { body: "x", headers: { "content-type": "text/plain" } };
    const rows: readonly (readonly [string, string, RequestInit | undefined, ErrorCode])[] = [
      ["PUT", "/programs/q", json({ calls: [] }), "invalid_plan"],
      ["PUT", "/programs/q", json({ calls: [{ _tool: "gone" }] }), "invalid_plan"],
      ["PUT", "/programs/q", json({ calls: [{ _tool: "echo", value: "†sales" }] }), "invalid_plan"],
      ["PUT", "/programs/q", text, "unsupported_media_type"],
      ["PUT", "/programs/q?agent=none", json(echo(1)), "not_found"],
      ["PUT", `/programs/${"q".repeat(101)}`, json(echo(1)), "bad_request"],
      ["PUT", "/programs/q%2F..", json(echo(1)), "bad_request"],
      ["PUT", "/programs/q", json({ from: "$a" }), "bad_request"],
      ["PUT", "/programs/q", json({ from: "$a", conversation: "../c" }), "bad_request"],
      ["PUT", "/programs/q", json({ from: "$a", conversation: "no" }), "conversation_not_found"],
      ["POST", "/programs/q/runs", json({}), "not_found"],
      ["POST", "/programs/p/runs", json({ input: { value: "x" } }), "invalid_plan"],
      ["POST", "/programs/p/runs", json({ input: 1, more: 1 }), "bad_request"],
      ["POST", "/programs/p/runs", json({ version: 9 }), "not_found"],
      ["GET", "/programs/p/runs/none", undefined, "not_found"],
      ["DELETE", "/programs/q", undefined, "not_found"],
    ];
    for (const [method, path, init, code] of rows) {
      await problemIn(await runtime.ask(method, path, init), code);
    }
    const list = await runtime.ask("GET", "/programs");
    expect(await list.json()).toMatchObject({ programs: [{ name: "p", version: 1 }] });
    expect(await runsOf(runtime)).toEqual([]);
  });

  it("fails with what to change if a tool has changed, and its conversation stores nothing", async () => {
    const { runtime, options } = programming();
    await kept(runtime, "t", { calls: [{ _tool: "total", rows: [], _outputPath: "†state.t" }] });
    const [agent] = options.agents;
    const all = tool({ inputSchema: z.object({ all: z.array(z.unknown()) }), execute: () => 1 });
    const tools = { total: all };
    runtime.start({ ...options, agents: [{ ...agent, tools }] });
    runtime.kill();
    const problem = await problemIn(await runtime.ask("POST", "/programs/t/runs"), "invalid_plan");
    expect(problem).toMatchObject({ findings: [{ code: "invalid_parameters", call: "call_1" }] });
    expect(problem.detail).toContain("all");
    const runs = await runsOf(runtime, "t");
    expect(runs).toMatchObject([{ status: "failed" }]);
    const at = `/conversations/${runs[0]?.conversation}`;
    await problemIn(await runtime.ask("GET", at), "conversation_not_found");
  });

  it("can be asked for only by its tenant's object: the inner endpoints are not served", async () => {
    const { runtime } = programming();
    for (const what of ["source", "check", "run"]) {
      const at = `/conversations/c/programs/${what}`;
      await problemIn(await runtime.ask("POST", at, json({ run: "r" })), "not_found");
    }
  });
});
