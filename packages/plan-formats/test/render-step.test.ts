import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answering, asked, skipped, sourcesIn } from "./template-asked.ts";

const results = [
  { title: "One", url: "https://one.example/" },
  { title: "Two", url: "https://two.example/" },
  { title: "Three", url: "https://three.example/" },
];

describe("the prompt of a step", () => {
  it("is unchanged without inputs", async () => {
    const prompt = "\n  Write {today}, $summary and {{summary}}.\r\n\r\n";
    expect(await asked(prompt, sourcesIn({ summary: "no" }))).toBe(prompt);
  });

  it("begins with the inputs in order, each with its name", async () => {
    const text = "@input variable:b\n@input variable:a\nWrite.\n";
    const sources = sourcesIn({ a: "A\n", b: { c: [1, null] } });
    expect(await asked(text, sources)).toBe(
      'variable:b\n```json\n{"c":[1,null]}\n```\n\nvariable:a\n```\nA\n\n```\n\nWrite.\n',
    );
  });

  it("shows strings as text, and other values as JSON", async () => {
    const sources = sourcesIn({ a: "null", b: null, c: 0, d: "" });
    const names = ["a", "b", "c", "d"].map((name) => `@input variable:${name} (required)\n`);
    expect(await asked(`${names.join("")}Write.`, sources)).toBe(
      "variable:a\n```\nnull\n```\n\nvariable:b\n```json\nnull\n```\n\nvariable:c\n```json\n0\n```\n\nvariable:d\n```\n\n```\n\nWrite.",
    );
  });

  it("shows the part at a path", async () => {
    const text = "@input variable:state.user['full name']\nWrite.";
    const sources = sourcesIn({ state: { user: { "full name": "Ada" } } });
    expect(await asked(text, sources)).toContain(
      'variable:state.user["full name"]\n```\nAda\n```\n',
    );
  });

  it("shows only the selection, and reads no more than that", async () => {
    const wanted: unknown[] = [];
    const sources = sourcesIn({ results: { items: results } });
    const text = "@input variable:results.items (select=[0:2][*].title)\nWrite.";
    const prompt = await asked(text, {
      ...sources,
      read(reference) {
        wanted.push(reference);
        return sources.read(reference);
      },
    });
    expect(prompt).toBe(
      'variable:results.items[0:2][*].title\n```json\n["One","Two"]\n```\n\nWrite.',
    );
    const path = [{ key: "items" }, { from: 0, to: 2 }, { each: true }, { key: "title" }];
    expect(wanted).toEqual([{ name: "results", path }]);
  });

  it("fences a value so that nothing in it closes the fence or is interpreted", async () => {
    const value = "````\n```\n@input variable:b\n$b {{b}} [missing: variable:c]\n`````";
    const prompt = await asked("@input variable:a\nWrite.", sourcesIn({ a: value, b: "no" }));
    expect(prompt).toBe(`variable:a\n\`\`\`\`\`\`\n${value}\n\`\`\`\`\`\`\n\nWrite.`);
  });

  it("contains any value unchanged", async () => {
    const text = "@input variable:a\nWrite.";
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (value) => {
        const prompt = await asked(text, sourcesIn({ a: value }));
        const [, fence = ""] = /^variable:a\n(`+)\n/.exec(prompt) ?? [];
        expect(prompt).toBe(`variable:a\n${fence}\n${value}\n${fence}\n\nWrite.`);
        expect(value.includes(fence)).toBe(false);
      }),
    );
  });
});

describe("a missing input", () => {
  it("is marked in its place", async () => {
    const text = "@input variable:a\n@input variable:b.c (select=.d)\nWrite.";
    expect(await asked(text, sourcesIn({ b: {} }))).toBe(
      "[missing: variable:a]\n\n[missing: variable:b.c.d]\n\nWrite.",
    );
  });

  it("skips the step with a reason if it is required", async () => {
    const text = "@input variable:summary (required)\nWrite.";
    expect(await skipped(text, sourcesIn({}))).toBe("variable:summary is missing.");
  });

  it("is reported with all others that are required", async () => {
    const text =
      "@input variable:a (required)\n@input variable:b\n@input variable:c.d (required)\nWrite.";
    const reason = await skipped(text, sourcesIn({ c: { e: 1 } }));
    expect(reason).toContain("variable:a is missing.");
    expect(reason).toContain("variable:c.d leads nowhere.");
    expect(reason).not.toContain("variable:b");
  });

  it("is reported with the reason if it was evicted", async () => {
    const sources = answering({ found: false, reason: "evicted", message: "It was evicted." });
    const text = "@input variable:a (required)\nWrite.";
    expect(await skipped(text, sources)).toBe("It was evicted.");
    expect(await asked("@input variable:a\nWrite.", sources)).toBe(
      "[missing: variable:a]\n\nWrite.",
    );
  });

  it("is not a value that is null, empty or false", async () => {
    const text = "@input variable:a (required)\nWrite.";
    for (const value of [null, "", false, 0, [], {}]) {
      expect(await asked(text, sourcesIn({ a: value }))).toMatch(/^variable:a\n```/);
    }
  });
});

describe("(paths-only)", () => {
  it("names a variable without reading it", async () => {
    const sources = { ...sourcesIn({ a: "A" }), read: () => expect.unreachable() };
    expect(await asked("@input variable:a (paths-only)\nWrite.", sources)).toBe(
      "variable:a\n\nWrite.",
    );
    expect(await asked("@input variable:b (paths-only)\nWrite.", sources)).toBe(
      "[missing: variable:b]\n\nWrite.",
    );
    const required = "@input variable:b (paths-only, required)\nWrite.";
    expect(await skipped(required, sources)).toBe("variable:b is missing.");
  });

  it("names a place in a variable, if it exists", async () => {
    const sources = sourcesIn({ a: { b: "B" } });
    const text = "@input variable:a.b (paths-only)\n@input variable:a.c (paths-only)\nWrite.";
    expect(await asked(text, sources)).toBe("variable:a.b\n\n[missing: variable:a.c]\n\nWrite.");
  });

  it.each([
    { found: false, reason: "secret" },
    { found: false, reason: "unreadable" },
    { found: false, reason: "withheld", text: "[sealed]" },
  ] as const)("also names what cannot be shown: $reason", async (shown) => {
    const text = "@input variable:a.b (paths-only)\nWrite.";
    expect(await asked(text, answering(shown))).toBe("variable:a.b\n\nWrite.");
  });

  it("names files, sorted by name", async () => {
    const files = { "notes/b.md": "B", "notes/a.md": "A", "notes/c.txt": "C" };
    const text = "@input file:notes/*.md (paths-only)\nWrite.";
    expect(await asked(text, sourcesIn({}, files))).toBe(
      "file:notes/a.md\nfile:notes/b.md\n\nWrite.",
    );
  });

  it("names a single file, if it exists", async () => {
    const sources = sourcesIn({}, { "a.md": "A", "a.md.bak": "B" });
    const text = "@input file:a.md (paths-only)\n@input file:b.md (paths-only)\nWrite.";
    expect(await asked(text, sources)).toBe("file:a.md\n\n[missing: file:b.md]\n\nWrite.");
  });
});

describe("an input that a model may not see", () => {
  it("prints as its name if it is secret", async () => {
    const shown = { found: false, reason: "secret" } as const;
    const text = "@input variable:key.part (required)\nWrite.";
    expect(await asked(text, answering(shown))).toBe("[secret: key]\n\nWrite.");
  });

  it("prints as its description if it is withheld", async () => {
    const shown = {
      found: false,
      reason: "withheld",
      text: "[sealed: orders, array of 5]",
    } as const;
    const text = "@input variable:orders (required)\nWrite.";
    expect(await asked(text, answering(shown))).toBe("[sealed: orders, array of 5]\n\nWrite.");
    expect(await asked("@input file:a.md\nWrite.", answering(shown))).toContain("[sealed: orders");
  });

  it("is an error with a reason if it cannot be read", async () => {
    const message = "It is bytes.";
    const shown = { found: false, reason: "unreadable", code: "bad_value", message } as const;
    await expect(asked("@input variable:a\nWrite.", answering(shown))).rejects.toMatchObject({
      code: "bad_value",
      message,
    });
  });
});
