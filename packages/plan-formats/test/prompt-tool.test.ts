import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { promptTool } from "../src/template/templates.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { wrapRuntimeTools } from "../../../src/tool/tool-call.ts";
import type { Json } from "../../../src/value/json.ts";
import { MemoryFiles } from "../../../test/support/memory-files.ts";
import { step, today } from "./template-run.ts";
import { runRecord } from "../../../test/support/plan-runs.ts";
import { TemplateRuns } from "./template-run.ts";

const summaryOf = (text: string) => `variable:summary\n\`\`\`\n${text}\n\`\`\``;

describe("the directives of the proposal", () => {
  it("@output variable: the answer is the variable", async () => {
    const runs = new TemplateRuns({ answer: () => "The summary." });
    const { status, calls } = await runs.run("@output variable:summary\nSummarise.");
    expect(status).toBe("done");
    expect(calls["step_1"]).toMatchObject({ status: "done", places: ["variable:summary"] });
    expect(runs.prompts).toEqual(["Summarise."]);
    expect(await runs.store.read("summary")).toBe("The summary.");
  });

  it("@input variable: its value precedes the prompt", async () => {
    const runs = new TemplateRuns();
    await runs.store.save({ name: "summary", value: "So far." });
    await runs.run("@input variable:summary\nGo on.");
    expect(runs.prompts).toEqual([`${summaryOf("So far.")}\n\nGo on.`]);
  });

  it("@output file: of the day", async () => {
    const files = new MemoryFiles();
    const runs = new TemplateRuns({ files, answer: () => "All is well." });
    const { calls } = await runs.run("@output file:reports/{today}.md\nReport.");
    expect(calls["step_1"]?.places).toEqual([`file:reports/${today}.md`]);
    expect(files.stored.get(`reports/${today}.md`)).toMatchObject({
      text: "All is well.",
      mediaType: "text/markdown",
    });
  });

  it("@input file: every file that matches", async () => {
    const files = new MemoryFiles();
    for (const name of ["b", "a"]) files.put(`notes/${name}.md`, name.toUpperCase());
    files.put("notes/deep/c.md", "C");
    const runs = new TemplateRuns({ files });
    await runs.run("@input file:notes/*.md\nRead.");
    expect(runs.prompts).toEqual([
      "file:notes/a.md\n```\nA\n```\n\nfile:notes/b.md\n```\nB\n```\n\nRead.",
    ]);
  });

  it("@tools name(variable=x): the tool's result is saved there", async () => {
    const runs = new TemplateRuns();
    await runs.run("@tools url_import(variable=source_dump), search\nFetch it.");
    expect([...(runs.questions[0]?.tools ?? [])]).toEqual([
      [
        "url_import",
        {
          operator: "all",
          places: [
            { name: "source_dump_run1", path: [], source: "variable:source_dump", run: "run1" },
          ],
        },
      ],
      ["search", undefined],
    ]);
  });

  it("(select=…): only a part is passed", async () => {
    const runs = new TemplateRuns();
    const rows = Array.from({ length: 9 }, (_, id) => ({ id, title: `T${id}` }));
    await runs.store.save({ name: "results", value: rows });
    await runs.run("@input variable:results (select=[0:2][*].title)\nRank.");
    expect(runs.prompts).toEqual([
      'variable:results[0:2][*].title\n```json\n["T0","T1"]\n```\n\nRank.',
    ]);
  });

  it("@header with the day, above the answer in each output", async () => {
    const files = new MemoryFiles();
    const runs = new TemplateRuns({ files, answer: () => ["one", "two"] });
    await runs.run("@output variable:a\n@output file:a.md\n@header Report for {today}\nReport.");
    const written = `Report for ${today}\n\n["one","two"]`;
    expect(await runs.store.read("a")).toBe(written);
    expect(files.textOf("a.md")).toBe(written);
  });
});

it("a missing input may be the output of a skipped step", async () => {
  const runs = new TemplateRuns();
  const { calls } = await runs.run(
    "@input variable:gone (required)\n@output variable:a\nP.\n## Two\n@input variable:a (required)\nP.",
  );
  expect(calls["two"]).toMatchObject({ status: "skipped", reason: "variable:a is missing." });
});

describe("steps", () => {
  it("of one run write nothing that another run or, before the end, the conversation can see", async () => {
    const runs = new TemplateRuns();
    const text = "@input variable:x\n@output variable:x\nWrite.";
    await runs.runOnly(text);
    expect(await runs.store.read("x")).toBeUndefined();
    await runs.runOnly(text);
    expect(runs.prompts[1]).toBe("[missing: variable:x]\n\nWrite.");
  });

  it("that were done before a crash do not run again", async () => {
    const runs = new TemplateRuns();
    const text = "First.\n## Two\nSecond.";
    const record = await runs.goOn(text, {
      ...runRecord("run9"),
      calls: { step_1: { status: "done" }, two: { status: "running", pin: "?" } },
    });
    expect(record.status).toBe("done");
    expect(runs.prompts).toEqual(["Second."]);
  });
});

it("a step that lacks a required input calls no model, and ends as skipped with the missing inputs", async () => {
  const store = new MemoryStore();
  const asked: unknown[] = [];
  const prompt = promptTool({
    store,
    today,
    ask: async (question) => {
      asked.push(question);
      throw new Error("Nobody is to be asked.");
    },
  });
  const tools = await wrapRuntimeTools([prompt], { store });
  const ready = await tools
    .get("prompt")
    ?.prepare(step("@input variable:notes (required)\nSummarise.") as unknown as Json, {
      toolCallId: "s",
      messages: [],
      signal: new AbortController().signal,
      idempotencyKey: "k",
    });
  if (ready?.kind !== "ready") throw new Error("The step was not ready.");
  const run = await ready.run();
  expect(run).toMatchObject({ kind: "failed", code: "skipped" });
  expect(run).toMatchObject({ message: expect.stringContaining("notes") });
  expect(asked).toEqual([]);
});

it("limits fail a step whose input is too long for a prompt, with advice", async () => {
  const runs = new TemplateRuns();
  await runs.store.save({ name: "long", value: "x".repeat(limits.maxEmbeddedChars + 1) });
  const { calls } = await runs.run("@input variable:long\nRead.");
  expect(calls["step_1"]).toMatchObject({
    status: "failed",
    reason: expect.stringMatching(/^limit_exceeded: .*\(select=…\)/),
  });
  expect(runs.prompts).toEqual([]);
});
