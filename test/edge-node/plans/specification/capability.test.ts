import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  approve,
  carryOutText,
  offerXml,
  putValue,
  refused,
  runPlan,
  taken,
  valueOf,
  withPlanner,
} from "../../../support/plan-requests.ts";

/** The specification of workflows is tested in `test/plan/capability-*.test.ts`; here is what needs a conversation. */

const set = (key: string, value: string) =>
  `<capability name="variable" action="set" key="${key}" value="${value}" />`;
const note = (value: string) => `<capability name="echo" value="${value}" />`;
const read = (key: string, into = "got") =>
  `<capability name="variable" action="get" key="${key}" output_var="${into}" />`;

describe("a workflow", () => {
  it("that names an unknown tool is refused", () =>
    withPlanner({}, async ({ own }) => {
      const findings = await refused(offerXml(own, '<capability name="nope" action="x" />'));
      expect(findings).toMatchObject([{ code: "unknown_tool" }]);
    }));

  it("gives a whole reference with its type", () => {
    const give = tool({
      inputSchema: z.object({ json: z.string() }),
      execute: ({ json }): unknown => JSON.parse(json),
    });
    return withPlanner({ tools: { give } }, async ({ own, seen }) => {
      const given = `<capability name="give" json="[1,{&quot;a&quot;:null}]" output_var="list" />`;
      await carryOutText(own, offerXml(own, given + note("{{list}}") + note("{{ list[0] }}")));
      expect(seen).toEqual([{ value: [1, { a: null }] }, { value: 1 }]);
    });
  });

  it("runs its calls in the written order, one after the other", async () => {
    const log: string[] = [];
    const step = tool({
      inputSchema: z.object({ n: z.string() }),
      execute: async ({ n }) => {
        log.push(`${n} begins`);
        await new Promise((resolve) => setTimeout(resolve, n === "1" ? 30 : 1));
        log.push(`${n} ends`);
      },
    });
    await withPlanner({ tools: { step } }, async ({ own }) => {
      const xml = [1, 2, 3].map((n) => `<capability name="step" n="${n}" />`).join("");
      await carryOutText(own, offerXml(own, xml));
    });
    expect(log).toEqual([1, 2, 3].flatMap((n) => [`${n} begins`, `${n} ends`]));
  });

  it("may use names as long as names are", () =>
    withPlanner({}, async ({ own, seen }) => {
      const [long, other] = ["n".repeat(64), "m".repeat(64)];
      const xml = set(long, "v") + read(long, other) + note(`{{${other}}}`);
      const { run } = await carryOutText(own, offerXml(own, xml));
      expect(run.status, JSON.stringify(run)).toBe("done");
      expect(seen).toEqual([{ value: "v" }]);
    }));

  it("does not see what an earlier run of it has set", () =>
    withPlanner({}, async ({ own, seen }) => {
      const { id } = await taken(offerXml(own, read("k") + note("{{got}}") + set("k", "v")));
      await approve(own, id);
      await runPlan(own, id);
      await runPlan(own, id);
      const missing = { value: "Variable not found: k" };
      expect(seen).toEqual([missing, missing]);
    }));

  it("leaves nothing in the conversation, named or not", () =>
    withPlanner({}, async ({ own }) => {
      const list = '<capability name="variable" action="list" />';
      await carryOutText(own, offerXml(own, set("k", "v") + note("{{k}}") + read("k") + list));
      const response = await own.call("GET", "/conversations/c/variables");
      expect(await response.json()).toMatchObject({ variables: [] });
    }));

  it('keeps what it sets with scope="conversation", and what output_var names', () =>
    withPlanner({}, async ({ own }) => {
      const kept = set("kept", "v").replace(" />", ' scope="conversation" />');
      const out = '<capability name="echo" value="q" output_var="out" scope="conversation" />';
      await carryOutText(own, offerXml(own, kept + out));
      expect(await valueOf(own, "kept")).toBe("v");
      expect(await valueOf(own, "out")).toBe("q");
    }));
});

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
