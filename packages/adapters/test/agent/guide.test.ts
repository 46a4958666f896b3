import { expect, it } from "vitest";
import { withGuide } from "../../src/agent.ts";

const guide = withGuide(undefined);

it("is the whole prompt if there are no instructions", () => {
  expect(guide).toMatch(/^Write results as /);
  expect(withGuide("")).toBe(guide);
});

it("is appended to a text, and is another message after messages", () => {
  const cached = {
    role: "system",
    content: "Be brief.",
    providerOptions: { a: { b: 1 } },
  } as const;
  expect(withGuide("Be brief.")).toBe(`Be brief.\n\n${String(guide)}`);
  expect(withGuide(cached)).toEqual([cached, { role: "system", content: guide }]);
  expect(withGuide([cached, cached])).toHaveLength(3);
});

it.each(["auto", "full", "minimal"] as const)(
  "is included once, however often it is added (%s)",
  (style) => {
    const once = withGuide("Be brief.", style);
    expect(withGuide(once, style)).toBe(once);
    const messages = withGuide([{ role: "system", content: "Be brief." }], style);
    expect(withGuide(messages, style)).toBe(messages);
  },
);
