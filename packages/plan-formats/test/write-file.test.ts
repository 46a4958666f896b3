import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { MemoryFiles } from "../../../test/support/memory-files.ts";
import { asked, TemplateRuns, today } from "./template-run.ts";

describe("files", () => {
  const files = {
    "notes/b.md": "B",
    "notes/a.md": "A",
    "notes/deep/c.md": "C",
    "notes/d.txt": "D",
    "data.json": '{"items":[{"id":1},{"id":2}]}',
    "bad.json": "{",
    [`reports/${today}.md`]: "R",
  };

  it("are inlined as text, sorted by name", async () => {
    expect(await asked("@input file:notes/*.md\nWrite.", {}, files)).toBe(
      "file:notes/a.md\n```\nA\n```\n\nfile:notes/b.md\n```\nB\n```\n\nWrite.",
    );
  });

  it("may have today's date in their path", async () => {
    expect(await asked("@input file:reports/{today}.md\nWrite.", {}, files)).toBe(
      `file:reports/${today}.md\n\`\`\`\nR\n\`\`\`\n\nWrite.`,
    );
    expect(await asked("@input file:{today}/*\nWrite.", {}, files)).toBe(
      `[missing: file:${today}/*]\n\nWrite.`,
    );
  });

  it("may have a part selected", async () => {
    const json = await asked("@input file:data.json (select=.items[*].id)\nWrite.", {}, files);
    expect(json).toBe("file:data.json.items[*].id\n```json\n[1,2]\n```\n\nWrite.");
    const missing = await asked("@input file:data.json (select=.a)\nW.", {}, files);
    expect(missing).toBe("[missing: file:data.json.a]\n\nW.");
    const start = await asked("@input file:a.txt (select=[0:2])\nW.", {}, { "a.txt": "😀bc" });
    expect(start).toBe("file:a.txt[0:2]\n```\n😀b\n```\n\nW.");
  });

  it("fail if a part is selected and they are not JSON", async () => {
    await expect(asked("@input file:bad.json (select=.a)\nWrite.", {}, files)).rejects.toThrow(
      /^bad_value: /,
    );
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

  it.each(["@input file:a.md", "@input file:*.md (paths-only)", "@input file:a.md (required)"])(
    "fail without a bucket, with advice: %s",
    async (line) => {
      await expect(asked(`${line}\nWrite.`, {})).rejects.toThrow(
        /file:\S+ needs a bucket, and none is bound: bind BLOBS/,
      );
    },
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
    await expect(asked(text, { a: "a".repeat(chars + 1) })).rejects.toThrow(
      `limit_exceeded: maxEmbeddedChars is at most ${chars}, this is ${chars + 1}.`,
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
