import { describe, expect, it } from "vitest";
import {
  approve,
  carryOutText,
  type Planner,
  type ShownRun,
  lines,
  offerTemplate,
  promptIn,
  putValue,
  refused,
  runPlan,
  says,
  taken,
  withPlanner,
  valueOf,
} from "../../../support/plan-requests.ts";

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

  it("gives inputs to the model, whole values with their text", () =>
    template(
      [lines("@input variable:summary", "@input variable:rows", "Write."), "Done."],
      async ({ model }) => {
        const prompt = promptIn(model, 0);
        expect(prompt).toContain("All is well.");
        expect(prompt).toContain("4711");
        expect(prompt).toContain("Write.");
        expect(prompt).not.toContain("@input");
      },
      async ({ own }) => {
        await putValue(own, "summary", "All is well.");
        await putValue(own, "rows", [{ n: 4711 }]);
      },
    ));

  it("is given what is missing as a visible marker", () =>
    template([lines("@input variable:nobody_knows", "Write."), "Done."], async ({ model }, run) => {
      expect(run.status).toBe("done");
      expect(promptIn(model, 0)).toMatch(/nobody_knows/);
      expect(promptIn(model, 0)).toMatch(/missing|not found|no such|does not exist/i);
    }));

  it("skips a step whose required input is missing, and says so", () =>
    template(
      [
        lines("## One", "@input variable:gone (required)", "Write.", "## Two", "Go on."),
        "Two is done.",
      ],
      async ({ model }, run) => {
        expect(model.calls).toHaveLength(1);
        expect(promptIn(model, 0)).toContain("Go on.");
        const skipped = run.calls.filter(({ status }) => status === "skipped");
        expect(skipped).toHaveLength(1);
        expect(skipped[0]?.reason).toContain("gone");
      },
    ));

  it("has a required input that is there", () =>
    template(
      [lines("@input variable:here (required)", "Write."), "Done."],
      async ({ model }) => expect(promptIn(model, 0)).toContain("present"),
      async ({ own }) => putValue(own, "here", "present"),
    ));

  it("(paths-only) names without inlining", () =>
    template(
      [lines("@input variable:notes (paths-only)", "Write."), "Done."],
      async ({ model }) => {
        expect(promptIn(model, 0)).toContain("notes");
        expect(promptIn(model, 0)).not.toContain("deep inside");
      },
      async ({ own }) => putValue(own, "notes", `${"x".repeat(2_000)} deep inside`),
    ));

  it("(select=…) inlines that part alone", () =>
    template(
      [lines("@input variable:results (select=[0:5][*].title)", "Write."), "Done."],
      async ({ model }) => {
        const prompt = promptIn(model, 0);
        for (const n of [0, 1, 2, 3, 4]) expect(prompt).toContain(`title-${n}`);
        expect(prompt).not.toContain("title-5");
        expect(prompt).not.toContain("body-");
      },
      async ({ own }) => {
        const row = (_: unknown, n: number) => ({ title: `title-${n}`, body: `body-${n}` });
        // In the list of variables a preview shows the newest alone.
        const padding = "p".repeat(2_000);
        await putValue(own, "results", [...Array.from({ length: 9 }, row), padding]);
        await own.call("PATCH", "/conversations/c/variables/results");
      },
    ));

  it("@header stands in front, with {today}", () =>
    template(
      [lines("@output variable:report", "@header Report for {today}", "Write."), "Body."],
      async ({ own }) => {
        const report = String(await valueOf(own, "report"));
        const year = String(new Date().getUTCFullYear());
        expect(report).toMatch(new RegExp(`^\\W*Report for .*${year}`));
        expect(report).not.toContain("{today}");
        expect(report.trimEnd().endsWith("Body.")).toBe(true);
      },
    ));
});

describe("write modes", () => {
  const two = (mode: string) =>
    lines("## A", "@output variable:r", mode, "One.", "## B", "@output variable:r", mode, "Two.");

  it("append is the default for variables", () =>
    template([two(""), "first", "second"], async ({ own }) => {
      const written = String(await valueOf(own, "r"));
      expect(written).toMatch(/^first\s*second$/);
    }));

  it("append, in as many words", () =>
    template([two("@write-mode append"), "first", "second"], async ({ own }) => {
      expect(String(await valueOf(own, "r"))).toMatch(/^first\s*second$/);
    }));

  it("replace", () =>
    template([two("@write-mode replace"), "first", "second"], async ({ own }) => {
      expect(await valueOf(own, "r")).toBe("second");
    }));

  it("new, in each run", () =>
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

  it("append goes on from what the conversation has", () =>
    template(
      [lines("@output variable:r", "Write."), "new"],
      async ({ own }) => expect(String(await valueOf(own, "r"))).toMatch(/^old\s*new$/),
      async ({ own }) => putValue(own, "r", "old"),
    ));

  it("replace does not", () =>
    template(
      [lines("@output variable:r", "@write-mode replace", "Write."), "new"],
      async ({ own }) => expect(await valueOf(own, "r")).toBe("new"),
      async ({ own }) => putValue(own, "r", "old"),
    ));
});

describe("directive errors say their line", () => {
  it.each([
    ["an input without a scheme", lines("Hello", "@input summary"), 2],
    [
      "an input with an unknown scheme",
      lines("@input variable:a", "", "@input ftp:x", "Write."),
      3,
    ],
    ["an output without a scheme", lines("@output report", "Write."), 1],
    ["an output with an unknown scheme", lines("", "@output http://x", "Write."), 2],
    ["the second step's", lines("## A", "Write.", "## B", "@output nope:x", "Write."), 4],
    ["an input of nothing", lines("@input variable:", "Write."), 1],
    ["with line breaks of Windows", "Hello\r\n@input summary\r\n", 2],
  ])("%s", (_, written, line) =>
    withPlanner({}, async ({ own }) => {
      const findings = await refused(offerTemplate(own, written));
      expect(findings).toMatchObject([{ code: expect.any(String), line }]);
    }),
  );

  it("all at once", () =>
    withPlanner({}, async ({ own }) => {
      const written = lines("@input a", "@output b", "Write.");
      const findings = await refused(offerTemplate(own, written));
      expect(findings.map(({ line }) => line)).toEqual([1, 2]);
    }));
});

describe("what is no directive", () => {
  it.each([
    ["inside a fence", lines("```", "@output nowhere", "## No step", "```", "Write.")],
    ["inside a fence of tildes", lines("~~~md", "@input nope", "~~~", "Write.")],
    ["inside a longer fence", lines("````", "```", "@output nowhere", "````", "Write.")],
    ["inside a line", "Mail me @input nope, please."],
    ["an address", "me@output.example"],
  ])("%s is prompt", (_, written) =>
    template([written, "Done."], async ({ model }, run) => {
      expect(run.calls).toHaveLength(1);
      for (const line of written.split("\n")) expect(promptIn(model, 0)).toContain(line);
    }),
  );
});

describe("steps", () => {
  it("run in order, stateless", () =>
    template(
      [
        lines(
          "## One",
          "Say one.",
          "## Two",
          "Say two.",
          "### Not a step",
          "Still two.",
          "## Three",
          "Say three.",
        ),
        "answer-one",
        "answer-two",
        "answer-three",
      ],
      async ({ model }, run) => {
        expect(run.calls.map(({ status }) => status)).toEqual(["done", "done", "done"]);
        expect(model.calls).toHaveLength(3);
        expect(promptIn(model, 1)).toContain("Say two.");
        expect(promptIn(model, 1)).toContain("Still two.");
        for (const gone of ["Say one.", "answer-one", "Say three."]) {
          expect(promptIn(model, 1)).not.toContain(gone);
        }
        expect(promptIn(model, 2)).not.toContain("answer-");
      },
    ));

  it("read what another wrote, and nothing more", () =>
    template(
      [
        lines(
          "## One",
          "@output variable:draft",
          "Draft.",
          "## Two",
          "@input variable:draft (required)",
          "@output variable:final",
          "Finish.",
        ),
        "the draft text",
        "the final text",
      ],
      async ({ model, own }) => {
        expect(promptIn(model, 1)).toContain("the draft text");
        expect(promptIn(model, 1)).not.toContain("Draft.");
        expect(await valueOf(own, "draft")).toBe("the draft text");
        expect(await valueOf(own, "final")).toBe("the final text");
      },
    ));

  it("of another run are not read: each run has its own", () =>
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
