import { describe, expect, it } from "vitest";
import { dayAt } from "../../plans/src/plan/plan-format.ts";
import { fillTarget, unknownPlaceholder } from "../src/template/template-step.ts";

describe("the placeholder in a file name", () => {
  const today = dayAt(Date.UTC(2026, 10, 22, 23, 59, 59));

  it("is the day in UTC", () => {
    expect(today).toBe("2026-11-22");
    expect(dayAt(Date.UTC(2026, 10, 23))).toBe("2026-11-23");
    expect(dayAt(253_402_300_800_000)).toBe("+010000-01-01");
  });

  it("is filled in everywhere, and nothing else is", () => {
    const target = { scheme: "file", path: "{today}/{Today}-{today}.md" } as const;
    expect(fillTarget(target, { today })).toEqual({
      scheme: "file",
      path: "2026-11-22/{Today}-2026-11-22.md",
    });
  });

  it("is filled in literally", () => {
    const target = { scheme: "file", path: "a-{today}" } as const;
    expect(fillTarget(target, { today: "$&" }).path).toBe("a-$&");
  });

  it("is the only one", () => {
    expect(unknownPlaceholder("{today}/{week}.md")).toBe("{week}");
    expect(unknownPlaceholder("{today}/a{}.md")).toBeUndefined();
  });
});
