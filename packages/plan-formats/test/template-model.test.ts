import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { asking, saying, textsOf } from "../../../test/support/called-agents.ts";
import { finish, type Step, toolCall } from "../../testing/src/testing.ts";
import { TemplateRuns } from "./template-run.ts";

const fetching: Step = [toolCall("fetch", { url: "https://a.example" }), finish("tool-calls")];
const fetchTool = tool({
  inputSchema: z.object({ url: z.string() }),
  execute: () => ({ title: "Bees", pages: [1, 2, 3] }),
});

function runsWith(steps: readonly Step[]) {
  const model = asking({ steps, tools: { fetch: fetchTool, other: fetchTool } });
  const runs = new TemplateRuns({ store: model.store, ask: model.ask });
  return { runs, model };
}

describe("the model that a step calls", () => {
  it("gets only the step's tools, whose results are saved where the step says", async () => {
    const { runs, model } = runsWith([fetching, saying("Got it."), saying("A report.")]);
    const { calls, status } = await runs.run(
      `@tools fetch(variable=page)
Fetch it.
## Write
@input variable:page (required, select=.title)
@output variable:report
Write.`,
    );
    expect(calls).toMatchObject({ write: { places: ["variable:report"] } });
    expect(status).toBe("done");
    expect(model.calls[0]?.tools).toMatchObject([{ name: "fetch" }]);
    expect(runs.prompts[1]).toBe("variable:page.title\n```\nBees\n```\n\nWrite.");
    expect(textsOf(model.calls[2])).toContain(runs.prompts[1]);
    expect(runs.store.tombstone("page_run1")?.reason).toBe("run_ended");
    expect(await runs.store.read("report")).toBe("A report.");
  });

  it("answers with a value if its answer is a single reference", async () => {
    const { runs } = runsWith([fetching, saying("$page.pages")]);
    const text = `@tools fetch(variable=page)\n@output variable:pages\nFetch it.`;
    await runs.run(text);
    expect(await runs.store.read("pages")).toEqual([1, 2, 3]);
  });

  it("gives an answer that is guarded like the values it refers to", async () => {
    const { runs } = runsWith([saying("They are $patients[0].ssn.")]);
    await runs.store.save({ name: "patients", value: [{ ssn: "078" }], visibility: "sealed" });
    await runs.run("@input variable:patients\n@output variable:list\nList them.");
    expect(runs.prompts[0]).not.toContain("078");
    expect(runs.store.info("list")).toMatchObject({ visibility: "sealed" });
    expect(await runs.store.read("list")).toBe("They are 078.");
  });

  it("sees a list of the variables that it was given, and no others", async () => {
    const { runs, model } = runsWith([fetching, saying("Got it."), saying("A report.")]);
    const { store } = runs;
    await store.save({ name: "topic", value: ["bees"] });
    await store.save({ name: "other", value: "unrelated", trusted: false });
    const text = `@input variable:topic (select=[0])
@tools fetch(variable=page), other
Fetch it.
## Write
@input variable:page (paths-only)
@input variable:missing
@output variable:report
Write.`;
    await runs.run(text);
    const listed = model.calls.map((call) => {
      const told = textsOf(call).join("\n");
      expect(told).toContain("Write results as");
      return /<variables>\n(.*)\n/.exec(told)?.[1];
    });
    const page = "$page: object (2) {title: string, pages: number[]}";
    const topic = "$topic: array (1) string[]";
    // In the second call, a message shows the page, so the list leaves it out.
    expect(listed).toEqual([topic, topic, page]);
    expect(textsOf(model.calls[1]).join("\n")).toContain('{"$var":"page","value":');
    expect(store.info("report")?.trusted).toBe(true);
  });
});
