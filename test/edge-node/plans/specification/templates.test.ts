import { type Tool, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { finish, type Step, text, toolCall } from "../../../support/scripted-model.ts";
import {
  approve,
  carryOutText,
  lines,
  offerTemplate,
  type Planner,
  promptIn,
  putValue,
  runPlan,
  says,
  type ShownRun,
  taken,
  valueOf,
  withPlanner,
} from "../../../support/plan-requests.ts";

/** What a template's directives mean is tested in `test/plan/template*.test.ts` and `prompt-tool.test.ts`. */

/** Runs a template; what stands behind it is what the model says, step by step. */
function template(
  [written, ...answers]: readonly [string, ...string[]],
  work: (planner: Planner, run: ShownRun) => Promise<void>,
  before: (planner: Planner) => Promise<void> = async () => {},
) {
  return withPlanner({ steps: says(...answers) }, async (planner) => {
    await before(planner);
    const { run } = await carryOutText(planner.own, offerTemplate(planner.own, written));
    await work(planner, run);
  });
}

describe("a template", () => {
  it("is a plan: proposed, approved, run; the model is not called before", () =>
    withPlanner({ steps: says("The report.") }, async ({ own, model }) => {
      const written = lines("@output variable:report", "Write the report.");
      const plan = await taken(offerTemplate(own, written));
      expect(plan).toMatchObject({ status: "proposed", findings: [] });
      expect(model.calls).toHaveLength(0);
      await approve(own, plan.id);
      const { run } = await runPlan(own, plan.id);
      expect(run.status).toBe("done");
      expect(model.calls).toHaveLength(1);
      expect(promptIn(model, 0)).toContain("Write the report.");
      expect(promptIn(model, 0)).not.toContain("@output");
      expect(await valueOf(own, "report")).toBe("The report.");
    }));

  it("keep: false does not leave its output in the conversation", () =>
    withPlanner({ steps: says("The report.") }, async ({ own }) => {
      const plan = await taken(offerTemplate(own, lines("@output variable:report", "Write.")));
      await approve(own, plan.id);
      await runPlan(own, plan.id, { keep: false });
      expect(await valueOf(own, "report")).toBe(404);
    }));

  it("writes a new variable in each run: @write-mode new", () =>
    withPlanner({ steps: says("first", "second") }, async ({ own }) => {
      const written = lines("@output variable:r", "@write-mode new", "Write.");
      const { id } = await taken(offerTemplate(own, written));
      await approve(own, id);
      await runPlan(own, id);
      await runPlan(own, id);
      expect([await valueOf(own, "r_000"), await valueOf(own, "r_001")]).toEqual([
        "first",
        "second",
      ]);
    }));

  it("appends to what the conversation has", () =>
    template(
      [lines("@output variable:r", "Write."), "new"],
      async ({ own }) => expect(String(await valueOf(own, "r"))).toMatch(/^old\s*new$/),
      async ({ own }) => putValue(own, "r", "old"),
    ));

  it("replaces what the conversation has: @write-mode replace", () =>
    template(
      [lines("@output variable:r", "@write-mode replace", "Write."), "new"],
      async ({ own }) => expect(await valueOf(own, "r")).toBe("new"),
      async ({ own }) => putValue(own, "r", "old"),
    ));

  it("does not read what another run wrote", () =>
    withPlanner({ steps: says("one", "two", "three", "four") }, async ({ own, model }) => {
      const written = lines(
        "## A",
        "@output variable:d",
        "@write-mode replace",
        "A.",
        "## B",
        "@input variable:d",
        "B.",
      );
      const { id } = await taken(offerTemplate(own, written));
      await approve(own, id);
      await runPlan(own, id, { keep: false });
      await runPlan(own, id, { keep: false });
      expect(promptIn(model, 1)).toContain("one");
      expect(promptIn(model, 3)).toContain("three");
    }));
});

describe("tools of a template", () => {
  const big = `${"s".repeat(3_000)}NEEDLE${"t".repeat(3_000)}`;
  const url_import: Tool = tool({
    inputSchema: z.object({ url: z.string() }),
    execute: () => big,
  });
  const steps: readonly Step[] = [
    [toolCall("url_import", { url: "https://a.example" }), finish("tool-calls")],
    [text("Imported."), finish()],
    [text("Read."), finish()],
  ];

  it("what no @output names ends with the run", () =>
    withPlanner({ tools: { url_import }, steps }, async ({ own }) => {
      const written = lines("@output variable:report", "@tools url_import(variable=dump)", "Go.");
      await carryOutText(own, offerTemplate(own, written));
      expect(await valueOf(own, "report")).toBe("Imported.");
      expect(await valueOf(own, "dump")).toBe(404);
    }));

  it("so does what has no name of its own", () =>
    withPlanner({ tools: { url_import }, steps }, async ({ own }) => {
      await carryOutText(own, offerTemplate(own, lines("@tools url_import", "Go.")));
      const response = await own.call("GET", "/conversations/c/variables");
      const { variables } = await response.json<{ variables: { name: string }[] }>();
      const names = variables.map(({ name }) => name).filter((name) => name !== "state");
      expect(names).toEqual([]);
    }));
});
