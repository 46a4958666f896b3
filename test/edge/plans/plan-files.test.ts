import { env } from "cloudflare:workers";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { approved, decide, planning, planTools, runOf } from "../../support/planning.ts";
import {
  approve,
  carryOutText,
  lines,
  offerTemplate,
  promptIn,
  runPlan,
  says,
  taken,
  withPlanner,
} from "../../support/plan-requests.ts";

describe("the conversation's folder", () => {
  const run = (own: OwnRuntime, ...written: readonly string[]) =>
    carryOutText(own, offerTemplate(own, lines(...written)));

  it("is written and read, globs too", () =>
    withPlanner({ steps: says("alpha body", "beta body", "Read.") }, async ({ own, model }) => {
      await run(own, "@output file:notes/a.md", "@write-mode replace", "A.");
      await run(own, "@output file:notes/b.md", "@write-mode replace", "B.");
      await run(own, "@input file:notes/*.md", "Read them.");
      expect(promptIn(model, 2)).toContain("alpha body");
      expect(promptIn(model, 2)).toContain("beta body");
    }));

  it("is named without being inlined by (paths-only)", () =>
    withPlanner({ steps: says("alpha body", "Read.") }, async ({ own, model }) => {
      await run(own, "@output file:notes/a.md", "A.");
      await run(own, "@input file:notes/*.md (paths-only)", "Read them.");
      expect(promptIn(model, 1)).toContain("notes/a.md");
      expect(promptIn(model, 1)).not.toContain("alpha body");
    }));

  it("knows {today}, in outputs as in inputs", () =>
    withPlanner({ steps: says("of today", "Read.") }, async ({ own, model }) => {
      await run(own, "@output file:reports/{today}.md", "A.");
      await run(own, "@input file:reports/{today}.md (required)", "Read.");
      expect(promptIn(model, 1)).toContain("of today");
    }));

  it("skips a step whose required file is missing, and marks another's", () =>
    withPlanner({ steps: says("Read.") }, async ({ own, model }) => {
      const skipped = await run(own, "@input file:none/a.md (required)", "Read.");
      expect(skipped.run.calls).toMatchObject([{ status: "skipped" }]);
      expect(skipped.run.calls[0]?.reason).toContain("none/a.md");
      expect(model.calls).toHaveLength(0);
      await run(own, "@input file:none/a.md", "Read.");
      expect(promptIn(model, 0)).toContain("none/a.md");
    }));

  it("replaces a file, or makes new ones, by @write-mode", () =>
    withPlanner(
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
    withPlanner({ steps: says("out") }, async ({ own }) => {
      const answer = await offerTemplate(own, lines(`@output file:${path}`, "Write."));
      if (answer.status === 422) return;
      const { id } = await taken(answer);
      await approve(own, id);
      const out = await runPlan(own, id);
      expect(out.run.calls).toMatchObject([{ status: "failed" }]);
    }),
  );

  it("is appended to without a @write-mode, by steps of one run too", () =>
    withPlanner({ steps: says("One.", "Two.", "Read.") }, async ({ own, model }) => {
      const writes = "@output file:notes/{today}.md\nGo.";
      await run(own, "## A", writes, "## B", writes, "## C", "@input file:notes/*.md", "Read.");
      expect(promptIn(model, 2)).toContain("One.\n\nTwo.");
    }));
});

it("a bucket that fails at the end does not cost the result", async () => {
  const big = tool({
    inputSchema: z.object({}),
    execute: () => "y".repeat(9 * 1_048_576),
  });
  await withRuntime(planning({ ...planTools(), big }), async (own) => {
    const bucket = env.BLOBS as unknown as Record<string, unknown>;
    const id = await approved(own, [
      { _tool: "big", _id: "big", _outputPath: "†state.big" },
      { _tool: "echo", _id: "last", value: "†approvals.legal", after: "†state.big" },
    ]);
    const { id: run } = await runOf(own, id);
    let isDown = true;
    for (const method of ["put", "createMultipartUpload"]) {
      const real = (bucket[method] as (...given: unknown[]) => unknown).bind(bucket);
      Object.defineProperty(bucket, method, {
        configurable: true,
        value: (...given: unknown[]) => {
          if (isDown) throw new Error("The bucket is down.");
          return real(...given);
        },
      });
    }
    await (await decide(own, "legal", { approved: true })).text();
    isDown = false;
    await own.conversation().alarm();
    const kept = await own.call("GET", "/conversations/c/variables/state/info");
    const own1 = await own.call("GET", `/conversations/c/variables/state_${run}/info`);
    expect([kept.status, own1.status]).toContain(200);
  });
});
