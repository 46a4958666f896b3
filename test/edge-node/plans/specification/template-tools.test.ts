import { type Tool, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { finish, type Step, text, toolCall } from "../../../support/scripted-model.ts";
import {
  carryOutText,
  lines,
  offerTemplate,
  promptIn,
  refused,
  says,
  withPlanner,
  valueOf,
} from "../../../support/plan-requests.ts";

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

  it("tool(variable=x) sends the output to x and shows the handle", () =>
    withPlanner({ tools: { url_import }, steps }, async ({ own, model }) => {
      const written = lines(
        "## Get",
        "@tools url_import(variable=source_dump)",
        "Import it.",
        "## Use",
        "@input variable:source_dump (required)",
        "Read it.",
      );
      const { run } = await carryOutText(own, offerTemplate(own, written));
      expect(run.calls.map(({ status }) => status)).toEqual(["done", "done"]);
      expect(model.calls[0]?.tools?.map(({ name }) => name)).toContain("url_import");
      expect(promptIn(model, 1)).toContain("source_dump");
      expect(promptIn(model, 1)).not.toContain("NEEDLE");
      expect(promptIn(model, 2)).toContain("NEEDLE");
    }));

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

  it("that nobody has are a finding", () =>
    withPlanner({}, async ({ own }) => {
      const findings = await refused(offerTemplate(own, lines("@tools nope(variable=x)", "Go.")));
      expect(findings).toHaveLength(1);
    }));
});

it("a file is a clear error where no bucket is bound", () =>
  withPlanner({ steps: says("Read.") }, async ({ own, model }) => {
    const findings = await refused(offerTemplate(own, lines("@input file:a.md", "Read.")));
    expect(findings[0]?.message).toContain("BLOBS");
    expect(model.calls).toHaveLength(0);
  }));
