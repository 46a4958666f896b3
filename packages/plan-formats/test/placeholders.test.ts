import { expect, it } from "vitest";
import { dayAt } from "../../plans/src/plan/plan-format.ts";
import { fillTarget } from "../src/template/template-step.ts";

const today = dayAt(Date.UTC(2026, 10, 22, 23, 59, 59));

it("the placeholder in a file name is filled in everywhere, and nothing else is", () => {
  const target = { scheme: "file", path: "{today}/{Today}-{today}.md" } as const;
  expect(fillTarget(target, { today })).toEqual({
    scheme: "file",
    path: "2026-11-22/{Today}-2026-11-22.md",
  });
});
