import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../../../test/support/edge.ts";
import { withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  planning,
  planOf,
  runOf,
  statusesOf,
  variable,
} from "../../../../test/support/planning.ts";
import { finish, scriptedModel, text, toolCall } from "../../../testing/src/testing.ts";

const ROOT = "/conversations/c/plans";

const template = `@input variable:notes (required)
@output variable:report
@header Report
Write the report.

## Judge
@input variable:report
@output variable:verdict
@write-mode replace
@tools lookup(variable=source)
Judge it.
`;

const lookup = tool({
  inputSchema: z.object({ q: z.string() }),
  execute: ({ q }) => `found ${q}`,
});

it("a template asks the model step by step, and passes on its outputs", async () => {
  const model = scriptedModel([
    [text("All is well."), finish()],
    [toolCall("lookup", { q: "well" }), finish("tool-calls")],
    [text("Good: $source"), finish()],
  ]);
  const options = { ...planning({ lookup }), model };
  await withRuntime(options, async (own) => {
    await own.call("PUT", "/conversations/c/variables/notes", json("Sun."));
    await own.call("PUT", "/conversations/c/variables/report", json("Before."));
    const init = { body: template, headers: { "content-type": "text/markdown" } };
    const { id } = await (await own.call("POST", ROOT, init)).json<{ id: string }>();
    await own.call("POST", `${ROOT}/${id}/approve`);
    const run = await runOf(own, id);
    expect(statusesOf(run)).toEqual({ step_1: "done", judge: "done" });
    expect(await variable(own, "report")).toBe("Before.\n\nReport\n\nAll is well.");
    expect(await variable(own, "verdict")).toBe("Good: found well");
    // A value that no output names is deleted with the run.
    expect(await variable(own, "source")).toBe(404);
    const prompts = model.calls.map(({ prompt }) => JSON.stringify(prompt));
    expect(prompts[0]).toContain("Sun.");
    // Stateless: the step sees only its inputs, and not the earlier messages.
    expect(prompts[1]).toContain("All is well.");
    expect(prompts[1]).not.toContain("Write the report.");
    expect((await planOf(own, id)).status).toBe("done");
  });
});
