import { env, withEnv } from "cloudflare:workers";
import { type Tool, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { OwnRuntime } from "../../../support/own-runtime.ts";
import { finish, type Step, text, toolCall } from "../../../support/scripted-model.ts";
import {
  approve,
  carryOutText,
  lines,
  offerTemplate,
  promptIn,
  refused,
  runPlan,
  says,
  taken,
  underLaw,
  valueOf,
} from "../../../support/plans-law.ts";

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
    underLaw({ tools: { url_import }, steps }, async ({ own, model }) => {
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
    underLaw({ tools: { url_import }, steps }, async ({ own }) => {
      const written = lines("@output variable:report", "@tools url_import(variable=dump)", "Go.");
      await carryOutText(own, offerTemplate(own, written));
      expect(await valueOf(own, "report")).toBe("Imported.");
      expect(await valueOf(own, "dump")).toBe(404);
    }));

  it("so does what has no name of its own", () =>
    underLaw({ tools: { url_import }, steps }, async ({ own }) => {
      await carryOutText(own, offerTemplate(own, lines("@tools url_import", "Go.")));
      const response = await own.call("GET", "/conversations/c/variables");
      const { variables } = await response.json<{ variables: { name: string }[] }>();
      const names = variables.map(({ name }) => name).filter((name) => name !== "state");
      expect(names).toEqual([]);
    }));

  it("that nobody has are a finding", () =>
    underLaw({}, async ({ own }) => {
      const findings = await refused(offerTemplate(own, lines("@tools nope(variable=x)", "Go.")));
      expect(findings).toHaveLength(1);
    }));
});

describe("the conversation's folder", () => {
  const run = (own: OwnRuntime, ...written: readonly string[]) =>
    carryOutText(own, offerTemplate(own, lines(...written)));

  it("is written and read, globs too", () =>
    underLaw({ steps: says("alpha body", "beta body", "Read.") }, async ({ own, model }) => {
      await run(own, "@output file:notes/a.md", "@write-mode replace", "A.");
      await run(own, "@output file:notes/b.md", "@write-mode replace", "B.");
      await run(own, "@input file:notes/*.md", "Read them.");
      expect(promptIn(model, 2)).toContain("alpha body");
      expect(promptIn(model, 2)).toContain("beta body");
    }));

  it("is named without being inlined by (paths-only)", () =>
    underLaw({ steps: says("alpha body", "Read.") }, async ({ own, model }) => {
      await run(own, "@output file:notes/a.md", "A.");
      await run(own, "@input file:notes/*.md (paths-only)", "Read them.");
      expect(promptIn(model, 1)).toContain("notes/a.md");
      expect(promptIn(model, 1)).not.toContain("alpha body");
    }));

  it("knows {today}, in outputs as in inputs", () =>
    underLaw({ steps: says("of today", "Read.") }, async ({ own, model }) => {
      await run(own, "@output file:reports/{today}.md", "A.");
      await run(own, "@input file:reports/{today}.md (required)", "Read.");
      expect(promptIn(model, 1)).toContain("of today");
    }));

  it("skips a step whose required file is missing, and marks another's", () =>
    underLaw({ steps: says("Read.") }, async ({ own, model }) => {
      const skipped = await run(own, "@input file:none/a.md (required)", "Read.");
      expect(skipped.run.calls).toMatchObject([{ status: "skipped" }]);
      expect(skipped.run.calls[0]?.reason).toContain("none/a.md");
      expect(model.calls).toHaveLength(0);
      await run(own, "@input file:none/a.md", "Read.");
      expect(promptIn(model, 0)).toContain("none/a.md");
    }));

  it("replaces a file, or makes new ones, by @write-mode", () =>
    underLaw(
      { steps: says("word-1", "word-2", "word-3", "word-4", "Read.") },
      async ({ own, model }) => {
        const replace = ["@output file:w/r.md", "@write-mode replace", "Write."];
        await run(own, ...replace);
        await run(own, ...replace);
        const fresh = ["@output file:w/n.md", "@write-mode new", "Write."];
        await run(own, ...fresh);
        await run(own, ...fresh);
        await run(own, "@input file:w/*.md", "Read.");
        const prompt = promptIn(model, 4);
        expect(prompt).not.toContain("word-1");
        for (const kept of ["word-2", "word-3", "word-4"]) expect(prompt).toContain(kept);
      },
    ));

  it.each(["../../../x.md", "/x.md", "a/../../b.md"])("has no way out: %s", (path) =>
    underLaw({ steps: says("out") }, async ({ own }) => {
      const answer = await offerTemplate(own, lines(`@output file:${path}`, "Write."));
      if (answer.status === 422) return;
      const { id } = await taken(answer);
      await approve(own, id);
      const out = await runPlan(own, id);
      expect(out.run.calls).toMatchObject([{ status: "failed" }]);
    }),
  );

  it("is a clear error where no bucket is bound", () =>
    underLaw({ steps: says("Read.") }, async ({ own, model }) => {
      await withEnv({ ...env, BLOBS: undefined }, async () => {
        own.wakeAgain();
        const answer = await offerTemplate(own, lines("@input file:a.md", "Read."));
        const said = await answer.clone().text();
        if (answer.status === 201) {
          const { id } = await taken(answer);
          await approve(own, id);
          const { run: ran } = await runPlan(own, id);
          expect(ran.calls).toMatchObject([{ status: "failed" }]);
          expect(ran.calls[0]?.reason).toMatch(/bucket|BLOBS|R2/);
        } else expect(said).toMatch(/bucket|BLOBS|R2/);
        expect(model.calls).toHaveLength(0);
      });
    }));
});
