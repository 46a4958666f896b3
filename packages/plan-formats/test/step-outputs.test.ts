import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { withHeader } from "../src/template/step-outputs.ts";
import { MemoryFiles } from "../../../test/support/memory-files.ts";
import { step, today } from "./template-asked.ts";
import { TemplateRuns } from "./template-run.ts";

const writing = (mode: string, output = "variable:x") =>
  `@write-mode ${mode}\n@output ${output}\nWrite.`;

describe("a variable is written", () => {
  it("at its end, with append", async () => {
    const runs = new TemplateRuns();
    await runs.store.save({ name: "list", value: ["old"] });
    await runs.run("@output variable:list\nWrite.\n## Two\n@output variable:fresh\nWrite.");
    expect(await runs.store.read("list")).toEqual(["old", "A"]);
    expect(await runs.store.read("fresh")).toBe("B");
  });

  it("by two steps, as two paragraphs", async () => {
    const runs = new TemplateRuns();
    const text = `@output variable:x\nWrite.\n## Two\n@output variable:x\nWrite.`;
    await runs.run(text);
    expect(await runs.store.read("x")).toBe("A\n\nB");
  });

  it("over its previous content, with replace", async () => {
    const runs = new TemplateRuns();
    await runs.store.save({ name: "x", value: "old" });
    await runs.run(`${writing("replace")}\n## Two\n${writing("replace")}`);
    expect(await runs.store.read("x")).toBe("B");
  });

  it("under a new name, with new", async () => {
    const runs = new TemplateRuns();
    await runs.store.save({ name: "x", value: "old" });
    const text = `${writing("new")}\n## Two\n@input variable:x\nRead.`;
    await runs.run(text);
    await runs.run(writing("new"));
    expect(await runs.store.read("x")).toBe("old");
    expect(await runs.store.read("x_000")).toBe("A");
    expect(await runs.store.read("x_001")).toBe("C");
    // The run reads the new variable under the name in the template.
    expect(runs.prompts[1]).toContain("A");
  });

  it("in a part, in each mode, leaving the rest unchanged", async () => {
    const runs = new TemplateRuns();
    await runs.store.save({ name: "x", value: { intro: "old", rows: [{ id: 1 }], other: true } });
    const text = `@output variable:x.intro\nWrite.\n## Two
@write-mode replace\n@output variable:x.rows[0].note\n@output variable:x.new\nWrite.`;
    await runs.run(`${text}\n## Three\n@input variable:x\nRead.`);
    const value = {
      intro: "old\n\nA",
      rows: [{ id: 1, note: "B" }],
      other: true,
      new: "B",
    };
    expect(await runs.store.read("x")).toEqual(value);
    expect(runs.prompts[2]).toContain(JSON.stringify(value));
    await runs.run(writing("new", "variable:x.intro"));
    expect(await runs.store.read("x_000")).toEqual({ ...value, intro: "D" });
    expect(await runs.store.read("x")).toEqual(value);
  });

  it("in a part of a new variable", async () => {
    const runs = new TemplateRuns();
    await runs.run("@output variable:x.a.b\n@output variable:x.c\nWrite.");
    expect(await runs.store.read("x")).toEqual({ a: { b: "A" }, c: "A" });
  });

  it("together with others, or not at all", async () => {
    const runs = new TemplateRuns();
    await runs.store.save({ name: "y", value: { a: 1 } });
    const { calls } = await runs.run("@output variable:x\n@output variable:y.a.b\nWrite.");
    expect(calls["step_1"]).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^bad_value: Cannot write to .*number is in the way/),
    });
    expect(await runs.store.read("x")).toBeUndefined();
    expect(await runs.store.read("y")).toEqual({ a: 1 });
  });

  it("even if its name has the maximum length", async () => {
    const runs = new TemplateRuns();
    const name = "x".repeat(limits.maxNameChars);
    const read = `@output variable:${name}\nWrite.\n## Read\n@input variable:${name}\nRead.`;
    const { status } = await runs.run(read);
    expect([status, await runs.store.read(name)]).toEqual(["done", "A"]);
    expect(runs.prompts[1]).toContain("A");
  });
});

describe("the result of a step's tool", () => {
  it("belongs to the run if the plan outputs its variable", async () => {
    const runs = new TemplateRuns();
    await runs.runOnly("@tools fetch(variable=x)\nFetch.\n## Two\n@output variable:x\nWrite.");
    const places = [{ name: "x_run1", path: [], source: "variable:x", run: "run1" }];
    expect(runs.questions[0]?.tools.get("fetch")).toEqual({ operator: "all", places });
    expect(runs.questions[0]?.call.scope?.nameOf("x")).toBe("x_run1");
  });

  it("is saved into a part of an existing variable", async () => {
    const runs = new TemplateRuns({
      answer: async ({ tools }) => {
        const [place] = tools.get("fetch")?.places ?? [];
        if (place !== undefined) await runs.store.save({ ...place, value: "page" });
        return "A";
      },
    });
    await runs.store.save({ name: "x", value: { old: 1 } });
    await runs.run("@tools fetch(variable=x.page)\n@output variable:x.note\nFetch.");
    expect(await runs.store.read("x")).toEqual({ old: 1, page: "page", note: "A" });
  });
});

describe("a file is written", () => {
  const run = (files: MemoryFiles, text: string) => new TemplateRuns({ files }).run(text);

  it("at its end, with append", async () => {
    const files = new MemoryFiles();
    files.put("a.md", "old");
    await run(
      files,
      "@output file:a.md\nWrite.\n## Two\n@output file:a.md\n@output file:b\nWrite.",
    );
    expect(files.textOf("a.md")).toBe("old\n\nA\n\nB");
    expect(files.textOf("b")).toBe("B");
  });

  it("over its previous content, with replace", async () => {
    const files = new MemoryFiles();
    files.put("a.md", "old");
    await run(files, writing("replace", "file:a.md"));
    expect(files.textOf("a.md")).toBe("A");
  });

  it("under a new name, with new", async () => {
    const files = new MemoryFiles();
    files.put("n/a.md", "old");
    files.put("n/a_007.txt", "another");
    files.put("n/a_b.md", "another");
    const text = writing("new", "file:n/a.md");
    const { calls } = await run(files, `${text}\n## Two\n${text}\n## Three\n${text}`);
    expect(calls["two"]?.places).toEqual(["file:n/a_001.md"]);
    expect(["n/a_000.md", "n/a_001.md", "n/a_002.md"].map((path) => files.textOf(path))).toEqual([
      "A",
      "B",
      "C",
    ]);
    expect(files.textOf("n/a.md")).toBe("old");
    await run(files, writing("new", "file:n/.a"));
    expect(files.textOf("n/.a_000")).toBe("A");
  });

  it("in the format of its extension", async () => {
    const files = new MemoryFiles();
    const runs = new TemplateRuns({ files, answer: () => ({ a: 1 }) });
    await runs.run("@write-mode replace\n@output file:a.json\n@output file:a.md\nWrite.");
    expect(files.stored.get("a.json")).toMatchObject({
      text: '{"a":1}',
      mediaType: "application/json",
    });
    expect(files.textOf("a.md")).toContain('"a": 1');
  });

  it.each(["append", "new"])("despite concurrent writes: %s", async (mode) => {
    const files = new MemoryFiles();
    let others = 0;
    files.onWrite = () => {
      if (++others % 2 === 1 && others < 4) {
        const path = mode === "new" ? `a_00${others}.md` : "a.md";
        files.put(path, `other ${others}`);
      }
    };
    const { calls } = await run(files, writing(mode, "file:a.md"));
    expect(calls["step_1"]?.status).toBe("done");
    const [place = ""] = calls["step_1"]?.places ?? [];
    expect(files.textOf(place.slice("file:".length))).toMatch(/A$/);
  });

  it.each(["append", "new"])("once, even if the step runs again: %s", async (mode) => {
    const files = new MemoryFiles();
    files.put("a.md", "old");
    const runs = new TemplateRuns({ files });
    const first = await runs.runOnly(writing(mode, "file:a.md"));
    // The state as stored before the file was written.
    const calls = { step_1: { status: "running" as const, pin: "?" } };
    const again = await runs.goOn(writing(mode, "file:a.md"), { ...first, calls });
    expect(again.calls["step_1"]?.places).toEqual(first.calls["step_1"]?.places);
    const texts = [...files.stored.values()].map(({ text }) => text);
    expect(texts).toEqual(mode === "append" ? ["old\n\nB"] : ["old", "B"]);
  });
});

describe("the header", () => {
  it("precedes the answer, with the day", () => {
    const { header: _, ...plain } = step("@header Report for {today}\nWrite.");
    expect(withHeader(step("@header Report for {today}\nWrite."), "Done.\n", { today })).toBe(
      "Report for 2026-11-22\n\nDone.\n",
    );
    expect(withHeader(plain, "Done {today}.\n", { today })).toBe("Done {today}.\n");
  });
});
