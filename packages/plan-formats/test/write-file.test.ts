import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { asked, sourcesIn, today } from "./template-asked.ts";

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
    expect(await asked("@input file:notes/*.md\nWrite.", sourcesIn({}, files))).toBe(
      "file:notes/a.md\n```\nA\n```\n\nfile:notes/b.md\n```\nB\n```\n\nWrite.",
    );
  });

  it("may have today's date in their path", async () => {
    expect(await asked("@input file:reports/{today}.md\nWrite.", sourcesIn({}, files))).toBe(
      `file:reports/${today}.md\n\`\`\`\nR\n\`\`\`\n\nWrite.`,
    );
    expect(await asked("@input file:{today}/*\nWrite.", sourcesIn({}, files))).toBe(
      `[missing: file:${today}/*]\n\nWrite.`,
    );
  });

  it("may have a part selected", async () => {
    const json = await asked(
      "@input file:data.json (select=.items[*].id)\nWrite.",
      sourcesIn({}, files),
    );
    expect(json).toBe("file:data.json.items[*].id\n```json\n[1,2]\n```\n\nWrite.");
    const missing = await asked("@input file:data.json (select=.a)\nW.", sourcesIn({}, files));
    expect(missing).toBe("[missing: file:data.json.a]\n\nW.");
    const start = await asked(
      "@input file:a.txt (select=[0:2])\nW.",
      sourcesIn({}, { "a.txt": "😀bc" }),
    );
    expect(start).toBe("file:a.txt[0:2]\n```\n😀b\n```\n\nW.");
  });

  it("fail if a part is selected and they are not JSON", async () => {
    await expect(
      asked("@input file:bad.json (select=.a)\nWrite.", sourcesIn({}, files)),
    ).rejects.toMatchObject({ code: "bad_value" });
  });

  it("are listed by the prefix of their names", async () => {
    const prefixes: string[] = [];
    const list = async (prefix: string) => {
      prefixes.push(prefix);
      return [];
    };
    const read = () => expect.unreachable();
    const text = "@input file:notes/a*.md\n@input file:**/b\n@input file:c.md (paths-only)\nW.";
    await asked(text, { ...sourcesIn({}), files: { list, read } });
    expect(prefixes).toEqual(["notes/a", "", "c.md"]);
  });

  it.each(["@input file:a.md", "@input file:*.md (paths-only)", "@input file:a.md (required)"])(
    "fail without a bucket, with advice: %s",
    async (line) => {
      await expect(asked(`${line}\nWrite.`, sourcesIn({}))).rejects.toMatchObject({
        message: expect.stringMatching(/^file:\S+ needs a bucket, and none is bound: bind BLOBS/),
      });
    },
  );
});

describe("the limits of a prompt", () => {
  const text = "@input variable:a\nWrite.";
  const chars = limits.maxEmbeddedChars;

  it("an input has at most a megabyte of text", async () => {
    for (const length of [chars - 1, chars]) {
      const prompt = await asked(text, sourcesIn({ a: "a".repeat(length) }));
      expect(prompt.length).toBeGreaterThan(length);
    }
    await expect(asked(text, sourcesIn({ a: "a".repeat(chars + 1) }))).rejects.toMatchObject({
      code: "limit_exceeded",
      details: { limit: "maxEmbeddedChars", maximum: chars, actual: chars + 1 },
    });
  });

  it("all inputs together have sixteen, including names and fences", async () => {
    // Characters around a value: its name, two fences and three line breaks.
    const frame = "variable:a".length + 2 * 3 + 3;
    const value = "a".repeat(limits.maxInsertedChars / 16 - frame);
    const inputs = (count: number) => `${"@input variable:a\n".repeat(count)}Write.`;
    const sources = sourcesIn({ a: value, b: "" });
    expect((await asked(inputs(15), sources)).length).toBeGreaterThan(15 * value.length);
    expect((await asked(inputs(16), sources)).length).toBeGreaterThan(16 * value.length);
    const over = inputs(16).replace("Write.", "@input variable:b\nWrite.");
    await expect(asked(over, sources)).rejects.toMatchObject({
      details: { limit: "maxInsertedChars" },
    });
  });

  it("a pattern matches at most a thousand files", async () => {
    const sources = (count: number) => {
      const list = async () => Array.from({ length: count }, (_, index) => `${index}.md`);
      return { ...sourcesIn({}), files: { list, read: () => expect.unreachable() } };
    };
    const names = "@input file:*.md (paths-only)\nWrite.";
    expect((await asked(names, sources(999))).split("\n")).toHaveLength(999 + 2);
    expect((await asked(names, sources(1_000))).split("\n")).toHaveLength(1_000 + 2);
    await expect(asked(names, sources(1_001))).rejects.toMatchObject({ code: "limit_exceeded" });
  });
});
