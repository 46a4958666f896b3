import { describe, expect, it } from "vitest";
import { MemoryFiles } from "../../../test/support/memory-files.ts";
import { TemplateRuns } from "./template-run.ts";

const writing = (mode: string, output = "variable:x") =>
  `@write-mode ${mode}\n@output ${output}\nWrite.`;

it("a variable is written by two steps, as two paragraphs", async () => {
  const runs = new TemplateRuns();
  const text = `@output variable:x\nWrite.\n## Two\n@output variable:x\nWrite.`;
  await runs.run(text);
  expect(await runs.store.read("x")).toBe("A\n\nB");
});

it("the result of a step's tool is saved into a part of an existing variable", async () => {
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

describe("a file is written", () => {
  const run = (files: MemoryFiles, text: string) => new TemplateRuns({ files }).run(text);

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
