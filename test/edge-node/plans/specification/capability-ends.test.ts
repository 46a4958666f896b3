import { tool, type ToolSet } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import {
  carryOutText,
  offerXml,
  putValue,
  withPlanner,
  valueOf,
} from "../../../support/plan-requests.ts";

const FAIL = '<capability name="fail" output_var="summary" />';
const WRITE = '<capability name="echo" value="{{summary}}" />';
const FREE = '<capability name="echo" value="free" />';

it("what reads a failed call's output is skipped with the reason; the rest runs", () =>
  withPlanner({}, async ({ own, seen }) => {
    const { run } = await carryOutText(own, offerXml(own, FAIL + WRITE + FREE));
    expect(run.calls.map(({ status }) => status)).toEqual(["failed", "skipped", "done"]);
    expect(run.calls[1]?.reason).toMatch(/\S/);
    expect(seen).toEqual(["fail", { value: "free" }]);
  }));

it("so is what reads it inside a text", () =>
  withPlanner({}, async ({ own, seen }) => {
    const inText = '<capability name="echo" value="Summary: {{summary.short}}." />';
    const { run } = await carryOutText(own, offerXml(own, FAIL + inText));
    expect(run.calls.map(({ status }) => status)).toEqual(["failed", "skipped"]);
    expect(seen).toEqual(["fail"]);
  }));

it("clear takes what the run has, not the conversation's of the same name", () =>
  withPlanner({}, async ({ own }) => {
    await putValue(own, "mine", "kept");
    const clear = '<capability name="variable" action="clear" key="mine" />';
    await carryOutText(own, offerXml(own, clear));
    expect(await valueOf(own, "mine")).toBe("kept");
    const set = '<capability name="variable" action="set" key="mine" value="run" />';
    await carryOutText(own, offerXml(own, set + clear));
    expect(await valueOf(own, "mine")).toBe("kept");
  }));

it("runs side by side do not see each other's variables", async () => {
  const seen: unknown[] = [];
  const tools: ToolSet = {
    slow: tool({
      inputSchema: z.object({ value: z.string() }),
      execute: async ({ value }): Promise<string> => {
        await new Promise((resolve) => setTimeout(resolve, 10));
        return value;
      },
    }),
    note: tool({
      inputSchema: z.object({ content: z.any() }),
      execute: ({ content }): unknown => seen.push(content),
    }),
  };
  await withPlanner({ tools }, async ({ own }) => {
    const xml = (value: string) =>
      `<capability name="variable" action="set" key="who" value="${value}" />` +
      `<capability name="slow" value="${value}" output_var="out" />` +
      '<capability name="note">{{who}} {{out}}</capability>';
    await Promise.all(["a", "b", "c"].map((one) => carryOutText(own, offerXml(own, xml(one)))));
    expect(seen.toSorted()).toEqual(["a a", "b b", "c c"]);
  });
});
