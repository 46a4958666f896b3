import { describe, expect, it } from "vitest";
import { answering, asked, skipped, sourcesIn } from "./template-asked.ts";

describe("the prompt of a step", () => {
  it("shows the part at a path", async () => {
    const text = "@input variable:state.user['full name']\nWrite.";
    const sources = sourcesIn({ state: { user: { "full name": "Ada" } } });
    expect(await asked(text, sources)).toContain(
      'variable:state.user["full name"]\n```\nAda\n```\n',
    );
  });

  it("fences a value so that nothing in it closes the fence or is interpreted", async () => {
    const value = "````\n```\n@input variable:b\n$b {{b}} [missing: variable:c]\n`````";
    const prompt = await asked("@input variable:a\nWrite.", sourcesIn({ a: value, b: "no" }));
    expect(prompt).toBe(`variable:a\n\`\`\`\`\`\`\n${value}\n\`\`\`\`\`\`\n\nWrite.`);
  });
});

describe("a missing input", () => {
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
