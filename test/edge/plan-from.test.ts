import { describe, expect, it } from "vitest";
import { queries } from "../../src/byref.ts";
import { planView } from "../../packages/plans/src/http/plan-schemas.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { json } from "../support/edge.ts";
import { withRuntime } from "../support/own-runtime.ts";
import { planning, planTools, runOf } from "../support/planning.ts";

const ROOT = "/conversations/c/plans";

describe("a plan made from an answer that a query led to", () => {
  const sql = "SELECT sales.who, sum(sum) AS sum FROM $sales GROUP BY who ORDER BY who";
  const steps = [
    [
      ...toolCall("query_variables", {
        sql: `WITH t AS (${sql}) SELECT * FROM t`,
        saveAs: "totals",
      }),
      ...finish("tool-calls"),
    ],
    [
      ...toolCall("query_variables", {
        sql: "SELECT max(sum) AS best FROM totals",
        saveAs: "best",
      }),
      ...finish("tool-calls"),
    ],
    [...text("$totals\n\nThe best is $best[0].best."), ...finish()],
  ];

  it("answers with the totals of other records", () =>
    withRuntime({ ...planning(planTools(), { steps }), queries }, async (own) => {
      const sales = [
        { who: "ann", sum: 1 },
        { who: "bob", sum: 2 },
        { who: "ann", sum: 3 },
      ];
      await own.call("PUT", "/conversations/c/variables/sales", json(sales));
      await (
        await own.call("POST", "/conversations/c/messages", json({ message: "Totals" }))
      ).text();
      const history = await own.call("GET", "/conversations/c/messages");
      const { messages } = await history.json<{
        messages: { id: string; role: string; parts: { text?: string }[] }[];
      }>();
      const answer = messages.find(({ role }) => role === "assistant");
      const made = await own.call("POST", ROOT, json({ from: answer?.id }));
      const plan = planView().parse(await made.json());
      await own.call("POST", `${ROOT}/${plan.id}/approve`);
      const { state } = await runOf(own, plan.id);
      expect(state).toMatchObject({ answer: answer?.parts.at(-1)?.text });
      const input = { sales: [{ who: "eve", sum: 9 }] };
      expect((await runOf(own, plan.id, { input })).state).toMatchObject({
        totals: [{ who: "eve", sum: 9 }],
        answer: expect.stringContaining("The best is 9."),
      });
    }));
});
