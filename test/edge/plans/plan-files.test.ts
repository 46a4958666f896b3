import { expect, it } from "vitest";
import { withRuntime } from "../../support/own-runtime.ts";
import { planning, runOf } from "../../support/planning.ts";
import { finish, type ScriptedModel, text } from "../../../packages/testing/src/testing.ts";

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
