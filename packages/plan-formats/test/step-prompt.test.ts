import { describe, expect, it } from "vitest";
import { MemoryFiles } from "../../../test/support/memory-files.ts";
import { runRecord } from "../../../test/support/plan-runs.ts";
import { TemplateRuns, today, asked } from "./template-run.ts";
import * as limits from "../../../src/limits.ts";
import { tool } from "ai";
import * as z from "zod";
import { asking, saying, textsOf } from "../../../test/support/called-agents.ts";
import { finish, type Step, toolCall } from "../../testing/src/testing.ts";
import { matchesGlob } from "../src/template/step-prompt.ts";

describe("the directives of the proposal", () => {
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

it("a step that lacks a required input calls no model, and is skipped with the missing inputs", async () => {
  const runs = new TemplateRuns();
  const { calls } = await runs.run("@input variable:notes (required)\nSummarise.");
  expect(calls["step_1"]).toMatchObject({
    status: "skipped",
    reason: expect.stringContaining("notes"),
  });
  expect(runs.prompts).toEqual([]);
});

describe("files", () => {
  const files = {
    "notes/b.md": "B",
    "notes/a.md": "A",
    "notes/deep/c.md": "C",
    "notes/d.txt": "😀bc",
    "data.json": '{"items":[{"id":1},{"id":2}]}',
    "bad.json": "{",
    [`reports/${today}.md`]: "R",
  };

  it.each([
    ["notes/*.md", "file:notes/a.md\n```\nA\n```\n\nfile:notes/b.md\n```\nB\n```"],
    ["reports/{today}.md", `file:reports/${today}.md\n\`\`\`\nR\n\`\`\``],
    ["{today}/*", `[missing: file:${today}/*]`],
    ["data.json (select=.items[*].id)", "file:data.json.items[*].id\n```json\n[1,2]\n```"],
    ["data.json (select=.a)", "[missing: file:data.json.a]"],
    ["notes/d.txt (select=[0:2])", "file:notes/d.txt[0:2]\n```\n😀b\n```"],
  ])("are inlined, sorted by name, with parts and the date of today: %s", async (input, shown) => {
    expect(await asked(`@input file:${input}\nWrite.`, {}, files)).toBe(`${shown}\n\nWrite.`);
  });

  it("are listed by the prefix of their names", async () => {
    const prefixes: string[] = [];
    const files = new MemoryFiles();
    files.list = async (prefix) => {
      prefixes.push(prefix);
      return [];
    };
    const text = "@input file:notes/a*.md\n@input file:**/b\n@input file:c.md (paths-only)\nW.";
    await new TemplateRuns({ files }).run(text);
    expect(prefixes).toEqual(["notes/a", "", "c.md"]);
  });

  const noBucket = /file:\S+ needs a bucket, and none is bound: bind BLOBS/;
  it.each([
    ["bad.json (select=.a)", files, /^bad_value: /],
    ["a.md", undefined, noBucket],
    ["*.md (paths-only)", undefined, noBucket],
    ["a.md (required)", undefined, noBucket],
  ])("fail where they cannot be read: %s", (input, files, error) =>
    expect(asked(`@input file:${input}\nWrite.`, {}, files)).rejects.toThrow(error),
  );
});

describe("the limits of a prompt", () => {
  const text = "@input variable:a\nWrite.";
  const chars = limits.maxEmbeddedChars;

  it("an input has at most a megabyte of text", async () => {
    for (const length of [chars - 1, chars]) {
      const prompt = await asked(text, { a: "a".repeat(length) });
      expect(prompt.length).toBeGreaterThan(length);
    }
    const error = `^limit_exceeded: maxEmbeddedChars is at most ${chars}, this is ${chars + 1}\\..*\\(select=…\\)`;
    await expect(asked(text, { a: "a".repeat(chars + 1) })).rejects.toThrow(
      new RegExp(error, "su"),
    );
  });

  it("all inputs together have sixteen, including names and fences", async () => {
    // Characters around a value: its name, two fences and three line breaks.
    const frame = "variable:a".length + 2 * 3 + 3;
    const value = "a".repeat(limits.maxInsertedChars / 16 - frame);
    const inputs = (count: number) => `${"@input variable:a\n".repeat(count)}Write.`;
    const sources = { a: value, b: "" };
    expect((await asked(inputs(15), sources)).length).toBeGreaterThan(15 * value.length);
    expect((await asked(inputs(16), sources)).length).toBeGreaterThan(16 * value.length);
    const over = inputs(16).replace("Write.", "@input variable:b\nWrite.");
    await expect(asked(over, sources)).rejects.toThrow("maxInsertedChars");
  });

  it("a pattern matches at most a thousand files", async () => {
    const names = "@input file:*.md (paths-only)\nWrite.";
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.md`, ""]));
    expect((await asked(names, {}, files(1_000))).split("\n")).toHaveLength(1_000 + 2);
    await expect(asked(names, {}, files(1_001))).rejects.toThrow(/^limit_exceeded: /);
  });
});

const writing = (mode: string, output = "variable:x") =>
  `@write-mode ${mode}\n@output ${output}\nWrite.`;

it("a variable is written by two steps, as two paragraphs below what was there", async () => {
  const runs = new TemplateRuns();
  await runs.store.save({ name: "x", value: "Before." });
  const text = `@output variable:x\nWrite.\n## Two\n@output variable:x\nWrite.`;
  await runs.run(text);
  expect(await runs.store.read("x")).toBe("Before.\n\nA\n\nB");
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

it("the prompt of a step fences a value so that nothing in it closes the fence or is interpreted", async () => {
  const value = "````\n```\n@input variable:b\n$b {{b}} [missing: variable:c]\n`````";
  const prompt = await asked("@input variable:a\nWrite.", { a: value, b: "no" });
  expect(prompt).toBe(`variable:a\n\`\`\`\`\`\`\n${value}\n\`\`\`\`\`\`\n\nWrite.`);
});

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

describe("a file pattern", () => {
  it.each([
    ["notes/*.md", ["notes/a.md", "notes/.md"], ["notes/a/b.md", "notes/a.mdx", "a.md"]],
    ["?.md", ["😀.md", "a.md"], [".md", "ab.md", "/.md"]],
    ["A[a].(\\", ["A[a].(\\"], ["Aa.(\\", "a[a].(\\", "A[a]x(\\"]],
    ["**/b", ["b", "a/b", "a/a/b"], ["ab", "a/ab", "b/a"]],
    ["a/**", ["a/b", "a/b/c", "a/"], ["a", "b/a/c"]],
    ["a/**/b*", ["a/b", "a/c/bd", "a/c/d/b"], ["a/c/d", "ab", "a/b/c"]],
    ["a**b", ["ab", "acb"], ["a/b"]],
  ])("%s", (pattern, matching, others) => {
    const all = [...matching, ...others];
    expect(all.filter((path) => matchesGlob(pattern, path))).toEqual(matching);
  });

  it("takes time proportional to its length times the path's, where naive matchers are exponential", () => {
    const stars = "*a".repeat(90);
    expect(matchesGlob(`${stars}b`, "a".repeat(20_000))).toBe(false);
    expect(matchesGlob(`${"**/".repeat(60)}b`, "a/".repeat(10_000))).toBe(false);
    expect(matchesGlob(`${"**/a*".repeat(40)}`, "a/".repeat(10_000))).toBe(false);
  });
});
