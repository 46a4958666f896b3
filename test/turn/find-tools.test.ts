import { tool, toolSearch, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { finish, text, toolCall, scriptedModel } from "../../packages/testing/src/testing.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { Conversation, type Turn, turnWith } from "../support/turn.ts";
import { callable } from "../support/called-agents.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import { promptStages } from "../../src/tool/runtime-tool.ts";
import { QueryDatabases } from "../../packages/query/src/query-databases.ts";
import type { QueryEngine } from "../../packages/query/src/query-engine.ts";
import { queryTools } from "../../packages/query/src/query-tools.ts";
import { runtimeToolNames } from "../../src/tool/variables/variable-tools.ts";
import { proposePlanTool } from "../../packages/plans/src/run/open-plan.ts";
import { prepareModelCall } from "../../src/turn/model/model-call.ts";
import { openToolbox, type Toolbox } from "../../src/turn/toolbox.ts";
import type { Json } from "../../src/value/json.ts";
import { CHARS_PER_TOKEN } from "../../src/tool/tool-output.ts";
import { costOfLooking } from "../support/on-demand.ts";

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

const MAX_CHARS = 3_000;

/** Rejects, because these tests run no tool. */
const refused = () => Promise.reject(new Error("Not in this test."));

const agent = { name: "bare", description: "", instructions: "", tools: {} };
const research = { ...agent, name: "research", description: "Finds sources." };

/** Opens a toolbox with all tools of the runtime and these tools of an agent. */
function toolboxWith(tools: ToolSet) {
  const engine: QueryEngine = { run: refused, add: refused, keep: refused };
  const databases = new QueryDatabases(() => engine);
  return openToolbox(
    { ...agent, tools, delegates: ["research"] },
    { store: new MemoryStore() },
    {
      code: (options) => codeTool({ ...options, sandbox: { run: refused } }),
      files: { write: refused, read: refused, info: refused, list: refused },
      queries: (wrap) => queryTools({ databases, wrap }),
      planTools: async () => [proposePlanTool({ propose: refused, keep: () => {} })],
      findAgent: () => callable(research, scriptedModel([])),
    },
  );
}

const inputSchema = z.object({ about: z.object({ city: z.string() }), days: z.number() });
const look = tool({ description: "Looks.", inputSchema, execute: () => 1 });

/** Returns the tool definitions as a provider receives them. */
async function definitionsOf(tools: Toolbox["all"]) {
  const model = scriptedModel([]);
  const messages = [{ role: "user" as const, content: "?" }];
  const { options } = await prepareModelCall({ model, instructions: "", messages, tools });
  return options.tools ?? [];
}

it("the runtime's own tools take at most 3,000 characters in total, without limits that they check themselves", async () => {
  const given = await definitionsOf((await toolboxWith({ look })).all);
  const definitions = given.filter(({ name }) => name !== "look");
  expect(definitions.map(({ name }) => name).toSorted()).toEqual(runtimeToolNames.toSorted());
  const text = JSON.stringify(definitions);
  expect(text.length).toBeLessThanOrEqual(MAX_CHARS);
  expect(text).not.toMatch(/"(minimum|maximum|additionalProperties|\$ref|\$schema)":/);
});

it("the runtime's own tools are only added at the end from stage to stage, so that the beginning is stable", async () => {
  const toolbox = await toolboxWith({ look });
  const offered = await Promise.all(
    promptStages.map(async (stage) =>
      (await definitionsOf(toolbox.offeredAt(stage))).map(({ name }) => name),
    ),
  );
  const [start = [], variable = [], all = []] = offered;
  expect(start).toEqual(["look", "set_variable", "run_code", "delegate", "propose_plan"]);
  expect(variable).toEqual([...start, "read_variable", "query_variables"]);
  expect(all.slice(0, variable.length)).toEqual(variable);
  expect(all.slice(variable.length).toSorted()).toEqual([
    "delete_variable",
    "edit_variable",
    "export_variable",
    "list_variables",
    "search_variable",
  ]);
});

it("the runtime's own tools work when they are called, even if they are not offered", async () => {
  const chat = new Conversation({});
  const turn = await chat.say({
    steps: [
      [toolCall("list_variables", {}), finish("tool-calls")],
      [text("None."), finish()],
    ],
  });
  const [first] = turn.calls;
  expect(first?.tools?.map(({ name }) => name)).toEqual(["set_variable"]);
  expect(turn.result.message.parts).toContainEqual(
    expect.objectContaining({ state: "output-available", output: { variables: [] } }),
  );
});

const records = Array.from({ length: 500 }, (_, at) => ({ id: `ord_${at}`, total: at * 7 }));

it.each<[string, Json]>([
  ["records", records],
  ["numbers", records.map(({ total }) => total * 1_001)],
  ["a text", "Words of a text, in lines.\n".repeat(500)],
])("a handle says within a tenth what reading %s costs, in 20 characters", async (_kind, value) => {
  const { chars, tokens, read } = await costOfLooking(value);
  expect(chars).toBeLessThanOrEqual(20);
  expect(read / CHARS_PER_TOKEN / tokens).toBeGreaterThan(0.95);
  expect(read / CHARS_PER_TOKEN / tokens).toBeLessThan(1.1);
});
