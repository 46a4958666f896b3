import { expect, it } from "vitest";
import { asked } from "./template-run.ts";

it("the prompt of a step fences a value so that nothing in it closes the fence or is interpreted", async () => {
  const value = "````\n```\n@input variable:b\n$b {{b}} [missing: variable:c]\n`````";
  const prompt = await asked("@input variable:a\nWrite.", { a: value, b: "no" });
  expect(prompt).toBe(`variable:a\n\`\`\`\`\`\`\n${value}\n\`\`\`\`\`\`\n\nWrite.`);
});
