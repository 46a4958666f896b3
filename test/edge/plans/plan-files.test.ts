import { env } from "cloudflare:workers";
import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { withRuntime } from "../../support/own-runtime.ts";
import { approved, decide, planning, planTools, runOf } from "../../support/planning.ts";
import { finish, type ScriptedModel, text } from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";

const PLANS = "/conversations/c/plans";

/** Unit tests are in `test/plan`. Here a bucket stores the files. */
it("a template's steps write, extend and read files of the conversation's folder", async () => {
  const says = ["alpha", "beta", "One.", "Two.", "Read."].map((said) => [text(said), finish()]);
  const options = planning({}, { steps: says });
  const body = [
    "## A\n@output file:notes/a.md\n@write-mode replace\nA.",
    "## B\n@output file:notes/b-{today}.md\nB.",
    "## C\n@output file:notes/c.md\nC.",
    "## D\n@output file:notes/c.md\nD.",
    "## E\n@input file:notes/*.md (required)\nRead.",
  ].join("\n");
  await withRuntime(options, async (own) => {
    const init = { body, headers: { "content-type": "text/markdown" } };
    const { id } = await (await own.call("POST", PLANS, init)).json<{ id: string }>();
    await own.call("POST", `${PLANS}/${id}/approve`);
    expect((await runOf(own, id)).status).toBe("done");
    const { calls } = options.model as ScriptedModel;
    const prompt = JSON.stringify(calls[4]?.prompt);
    for (const part of ["alpha", "beta", "One.\\n\\nTwo."]) expect(prompt).toContain(part);
    expect(prompt).toMatch(/notes\/b-\d{4}-\d\d-\d\d\.md/);
  });
});

it("a bucket that fails at the end does not lose the result", slow, async () => {
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
