import { expect, it } from "vitest";
import { planSupport, queries } from "byref";
import { orders } from "../../../examples/agents/orders.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import { clientOf } from "../../support/client.ts";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";

it("a program makes a plan of the queries that led to a value, and of those that led to an answer", async () => {
  const sql = "SELECT sales.who, sum(sum) AS sum FROM $sales GROUP BY who ORDER BY who";
  const query = (text: string, saveAs: string) => [
    ...toolCall("query_variables", { sql: text, saveAs }),
    ...finish("tool-calls"),
  ];
  const model = scriptedModel([
    query(`WITH t AS (${sql}) SELECT * FROM t`, "report"),
    query("SELECT max(sum) AS best FROM report", "best"),
    [...text("$report\n\nThe best is $best[0].best."), ...finish()],
  ]);
  await withRuntime({ agents: [orders], model, plans: planSupport(), queries }, async (own) => {
    const client = clientOf(own);
    const sales = [
      { who: "ann", sum: 1 },
      { who: "bob", sum: 2 },
      { who: "ann", sum: 3 },
    ];
    await own.call("PUT", "/conversations/shop/variables/sales", json(sales));
    await client.conversation("shop").send("Totals").text();
    const { plans } = client.conversation("shop");
    // --- from
    const made = await plans.propose({ from: "$report" }, { agent: "orders" });
    await plans.approve(made.id);
    const input = { sales: [{ who: "eve", sum: 9 }] };
    const again = await plans.run(made.id, { input }).json();
    // ---
    expect(again).toMatchObject({ status: "done", state: { report: [{ who: "eve", sum: 9 }] } });
    const { messages } = await client.conversation("shop").messages();
    const answer = messages.find(({ role }) => role === "assistant");
    const { id } = await plans.propose({ from: answer?.id ?? "" }, { agent: "orders" });
    await plans.approve(id);
    expect((await plans.run(id).json()).state).toMatchObject({
      answer: answer?.parts.flatMap((part) => (part.type === "text" ? part.text : [])).at(-1),
    });
    expect((await plans.run(id, { input }).json()).state).toMatchObject({
      report: [{ who: "eve", sum: 9 }],
      answer: expect.stringContaining("The best is 9."),
    });
    expect(model.calls.length).toBe(3);
  });
});
