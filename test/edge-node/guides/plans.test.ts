import {
  type Agent,
  capabilityTags,
  capabilityWorkflows,
  createRuntime,
  planSupport,
  templates,
} from "byref";
import { expect, it } from "vitest";
import guide from "../../../docs/guides/plans.md?raw";
import { orders } from "../../../examples/agents/orders.ts";
import { clientOf } from "../../support/client.ts";
import { blockOf } from "../../support/fences.ts";
import { withWorker, withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text } from "byref/testing";

it("an application enables plans and their formats", async () => {
  const model = scriptedModel([]);
  // --- runtime
  const runtime = createRuntime({
    agents: [orders],
    model,
    plans: planSupport(capabilityWorkflows, templates),
  });
  // ---
  await withWorker(runtime, async (own) => {
    const init = (type: string) => ({ body: "[", headers: { "content-type": type } });
    for (const type of ["application/json", "application/xml", "text/markdown"]) {
      const response = await own.call("POST", "/conversations/c/plans", init(type));
      expect([type, response.status === 415]).toEqual([type, false]);
    }
  });
});

it("a program proposes, approves and runs", async () => {
  const model = scriptedModel([]);
  const options = { agents: [orders] as const, model, plans: planSupport() };
  await withRuntime(options, async (own) => {
    const client = clientOf(own);
    // --- client
    const { plans } = client.conversation("shop");
    const plan = await plans.propose(
      {
        calls: [
          { _tool: "list_orders", status: "†input.status", _outputPath: "†state.orders" },
          { _tool: "monthly_totals", orders: "†state.orders", _outputPath: "†state.totals" },
        ],
      },
      { agent: "orders" },
    );
    await plans.approve(plan.id);
    const run = await plans.run(plan.id, { input: { status: "paid" } }).json();
    // ---
    expect(run).toMatchObject({ status: "done", input: { status: "paid" } });
    const state = run.state as { orders: unknown[]; totals: unknown[] };
    expect([state.orders.length > 0, state.totals.length]).toEqual([true, 12]);
    expect(model.calls).toEqual([]);
  });
});

it("a rule approves plans that need no person", async () => {
  // --- rule
  const clerk: Agent = {
    ...orders,
    approvesPlan: ({ calls }) => calls.every(({ tool }) => tool !== "write_report"),
  };
  // ---
  const options = { agents: [clerk] as const, model: scriptedModel([]), plans: planSupport() };
  await withRuntime(options, async (own) => {
    const { plans } = clientOf(own).conversation("c");
    const list = { _tool: "list_orders", _outputPath: "†list" };
    const report = { _tool: "write_report", title: "†t", totals: "†t", summary: "†t" };
    await own.call("PUT", "/conversations/c/variables/t", { body: "1" });
    expect((await plans.propose({ calls: [list] })).status).toBe("approved");
    expect((await plans.propose({ calls: [report] })).status).toBe("proposed");
  });
});

it("the guide's workflow and template do what it says", async () => {
  const says = ["There is none.", "243 were refunded.", "It is."];
  const model = scriptedModel(says.map((said) => [text(said), finish()]));
  const plans = planSupport(capabilityWorkflows, templates);
  await withRuntime({ agents: [orders], model, plans }, async (own) => {
    const conversation = clientOf(own).conversation("c");
    const carryOut = async (written: { xml: string } | { template: string }) => {
      const { id } = await conversation.plans.propose(written);
      await conversation.plans.approve(id);
      return conversation.plans.run(id).json();
    };
    const skipped = await carryOut({ template: blockOf(guide, "markdown") });
    expect(skipped.calls.map(({ status }) => status)).toEqual(["skipped", "done"]);
    expect(await conversation.variables.get("verdict")).toBe("There is none.");
    const workflow = await carryOut({ xml: blockOf(guide, "xml") });
    expect(workflow.status).toBe("done");
    expect(await conversation.variables.get("line")).toBe("243 refunds, 54232.06 USD");
    const template = await carryOut({ template: blockOf(guide, "markdown") });
    expect(template.calls.map(({ status }) => status)).toEqual(["done", "done"]);
    expect(await conversation.variables.get("report")).toBe("Refunds\n\n243 were refunded.");
    expect(await conversation.variables.get("verdict")).toBe("It is.");
    // Each step sees only its input, and has no tools unless it names them.
    const [, written, judged] = model.calls.map(({ prompt }) => JSON.stringify(prompt));
    expect(written).toContain("243 refunds, 54232.06 USD");
    expect(judged).not.toContain("54232.06 USD");
    expect(model.calls.map(({ tools = [] }) => tools.length)).toEqual([0, 0, 0]);
  });
});

it("a model's answer with the workflow's tags has the same result", async () => {
  const answer = `Look:\n${blockOf(guide, "xml")}`;
  const last = "{{line}}, the largest $summary.largest.id.";
  const model = scriptedModel([answer, last].map((said) => [text(said), finish()]));
  // --- tags
  const tagging: Agent = { ...orders, toolCalls: capabilityTags };
  // ---
  await withRuntime({ agents: [tagging], model }, async (own) => {
    const conversation = clientOf(own).conversation("c");
    const shown = await conversation.send("How many refunds?").text();
    expect(shown).toContain("Look:");
    expect(shown).toContain("243 refunds, 54232.06 USD, the largest ord_00022.");
    expect(shown).not.toContain("<capability");
    expect(await conversation.variables.get("line")).toBe("243 refunds, 54232.06 USD");
    const { variables } = await conversation.variables.list();
    expect(variables.map(({ name }) => name)).toEqual(["refunds", "summary", "line"]);
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("<capability-result call=");
  });
});
