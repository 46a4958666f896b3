import { tool, toolSearch, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { finderTool } from "../../src/turn/find-tools.ts";
import { Conversation, type Turn, turnWith } from "../support/turn.ts";

const asked = finish("tool-calls");
const done = [text("Done."), finish()];

/** An agent with `load_…` tools, of which one is for invoices, in this order. */
function agentWith(count: number, more: Partial<Agent> = {}): Agent {
  const inputSchema = z.object({ id: z.string() });
  const tools: ToolSet = {};
  for (let at = 0; at < count; at++) {
    const about = at === 7 ? "Loads an invoice of a customer." : `Loads record ${at}.\nNot shown.`;
    tools[`load_${at}`] = tool({
      description: about,
      inputSchema,
      execute: ({ id }) => `${at}${id}`,
    });
  }
  return { name: "a", description: "", instructions: "Help.", tools, ...more };
}

function namesIn({ calls }: Turn, call: number): readonly string[] {
  return (calls[call]?.tools ?? []).map(({ name }) => name);
}

const isLoad = (name: string) => name.startsWith("load_");
const finding = (query: string) => toolCall("find_tools", { query });

describe("tools on demand", () => {
  it.each([
    ["30 tools", agentWith(30), 30],
    ["31 tools", agentWith(31), 0],
    ["31 tools, if the agent has it off", agentWith(31, { toolSearch: false }), 31],
    ["3 tools, if the agent allows 2", agentWith(3, { toolSearch: { tools: 2 } }), 0],
    ["few tools that take a tenth of the window", agentWith(10, { contextTokens: 1_000 }), 0],
    [
      "the same, if half of it may",
      agentWith(10, { contextTokens: 1_000, toolSearch: { share: 0.9 } }),
      10,
    ],
    [
      "tools, if one is its own find_tools",
      agentWith(31, {
        tools: { ...agentWith(31).tools, find_tools: tool({ inputSchema: z.object({}) }) },
      }),
      31,
    ],
  ])("begin above a limit: %s", async (_, agent, shown) => {
    const turn = await turnWith({ agent, steps: [done] });
    expect(namesIn(turn, 0).filter(isLoad)).toHaveLength(shown);
    expect(namesIn(turn, 0).includes("find_tools")).toBe(
      shown === 0 || "find_tools" in agent.tools,
    );
  });

  it("are listed with a line each, found by words, and stay after compaction in one order", async () => {
    const conversation = new Conversation({ agent: agentWith(40, { historyChars: 2_000 }) });
    const first = await conversation.say({
      steps: [
        [finding("customer invoices, an invoice"), asked],
        [toolCall("load_7", { id: "x" }), asked],
        done,
      ],
    });
    const [finder] = first.calls[0]?.tools?.filter(({ name }) => name === "find_tools") ?? [];
    const { description = "", inputSchema = {} } = finder?.type === "function" ? finder : {};
    // OpenAI refuses longer ones.
    expect(description.length).toBeLessThan(1_024);
    const lines = JSON.stringify(inputSchema).split("\\n");
    expect(lines).toHaveLength(41);
    expect(lines).toContain("load_7: Loads an invoice of a customer.");
    expect(JSON.stringify(first.calls[1]?.prompt.at(-1))).toContain('"load_7"');
    expect(namesIn(first, 0).filter(isLoad)).toEqual([]);
    expect(namesIn(first, 1).filter(isLoad)).toEqual(["load_7"]);
    for (let turns = 0; turns < 4; turns++)
      await conversation.say({ question: "word ".repeat(300), steps: [done] });
    const later = await conversation.say({ steps: [[finding("3"), asked], done] });
    expect(JSON.stringify(later.calls[0]?.prompt)).not.toContain('"toolName":"load_7"');
    expect(namesIn(later, 0)).toEqual(namesIn(first, 2));
    // Only the last place changes.
    expect(namesIn(later, 1)).toEqual([...namesIn(later, 0), "load_3"]);
  });

  it("work without being found, and are then sent", async () => {
    const turn = await turnWith({
      agent: agentWith(40),
      steps: [[toolCall("load_5", { id: "x" }), asked], done],
    });
    expect(JSON.stringify(turn.calls[1]?.prompt.at(-1))).toContain('"5x"');
    expect(namesIn(turn, 1).filter(isLoad)).toEqual(["load_5"]);
  });

  it("find nothing that the agent does not have", async () => {
    const steps = [[finding("delete refund secret $x ((.*"), asked], [finding("z"), asked], done];
    const turn = await turnWith({ agent: agentWith(40), steps });
    expect(JSON.stringify(turn.calls[1]?.prompt.at(-1))).toContain('{"tools":[]}');
    expect(namesIn(turn, 2).filter(isLoad)).toEqual([]);
  });

  it("are searched by a million characters of their descriptions, each by the same share", async () => {
    const known = [400_000, 600_000].map((at) => {
      return { name: `at_${at}`, description: `${"-".repeat(at)} invoice ${"-".repeat(500_000)}` };
    });
    const { execute } = finderTool({ name: "find_tools", how: "", known });
    const context = {} as Parameters<typeof execute>[1];
    const { output } = await execute({ query: "invoice" }, context);
    expect(JSON.stringify(output).match(/"at_\d+"/gu)).toEqual(['"at_400000"']);
  });

  it("are those with the SDK's deferLoading, found with its toolSearch", async () => {
    const { load_0, load_1, load_2 } = agentWith(3).tools;
    const tools: ToolSet = {
      search: toolSearch({ search: () => ["load_1", "load_9"] }),
      ...(load_0 && { load_0 }),
      ...(load_1 && { load_1: { ...load_1, deferLoading: true } }),
      ...(load_2 && { load_2: { ...load_2, deferLoading: true } }),
    };
    const turn = await turnWith({
      agent: agentWith(0, { tools }),
      steps: [[toolCall("search", { query: "anything" }), asked], done],
    });
    expect(namesIn(turn, 0).filter((name) => isLoad(name) || name === "search")).toEqual([
      "load_0",
      "search",
    ]);
    expect(namesIn(turn, 1).filter(isLoad)).toEqual(["load_0", "load_1"]);
  });
});
