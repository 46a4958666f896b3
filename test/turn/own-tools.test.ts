import { callable } from "../support/called-agents.ts";
import { describe, expect, it } from "vitest";
import { tool, type ToolSet } from "ai";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import { promptStages } from "../../src/tool/runtime-tool.ts";
import { QueryDatabases } from "../../packages/query/src/query-databases.ts";
import type { QueryEngine } from "../../packages/query/src/query-engine.ts";
import { queryTools } from "../../packages/query/src/query-tools.ts";
import { runtimeToolNames } from "../../src/tool/variables/variable-tools.ts";
import { proposePlanTool } from "../../packages/plans/src/run/propose-plan.ts";
import { prepareModelCall } from "../../src/turn/model/model-call.ts";
import { openToolbox, type Toolbox } from "../../src/turn/toolbox.ts";
import { finish, scriptedModel, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";

const MAX_CHARS = 3_000;

/** Rejects, because these tests run no tool. */
const refused = () => Promise.reject(new Error("Not in this test."));

const agent = { name: "bare", description: "", instructions: "", tools: {} };
const research = { ...agent, name: "research", description: "Finds sources." };

/** Opens a toolbox with all tools of the runtime and these tools of an agent. */
function toolboxWith(tools: ToolSet) {
  const engine: QueryEngine = {
    run: refused,
    add: refused,
    keep: refused,
  };
  const databases = new QueryDatabases(() => engine);
  return openToolbox(
    { ...agent, tools, delegates: ["research"] },
    { store: new MemoryStore() },
    {
      code: (options) => codeTool({ ...options, sandbox: { run: refused } }),
      files: { write: refused, read: refused, info: refused, list: refused },
      queries: (wrap) => queryTools({ databases, wrap }),
      planTools: async (one) => [proposePlanTool(one, { propose: refused, keep: () => {} })],
      findAgent: () => callable(research, scriptedModel([])),
    },
  );
}

const inputSchema = z.object({ about: z.object({ city: z.string() }), days: z.number() });
const look = tool({ description: "Looks.", inputSchema, execute: () => 1 });

/** Returns the tool definitions as a provider receives them. */
async function definitionsOf(tools: Toolbox["all"]) {
  const model = scriptedModel([]);
  const signal = new AbortController().signal;
  const messages = [{ role: "user" as const, content: "?" }];
  const { options } = await prepareModelCall({ model, instructions: "", messages, tools, signal });
  return options.tools ?? [];
}

describe("the runtime's own tools", () => {
  it("take at most 3,000 characters in total, without limits that they check themselves", async () => {
    const given = await definitionsOf((await toolboxWith({ look })).all);
    const definitions = given.filter(({ name }) => name !== "look");
    expect(definitions.map(({ name }) => name).toSorted()).toEqual(runtimeToolNames.toSorted());
    const text = JSON.stringify(definitions);
    expect(text.length).toBeLessThanOrEqual(MAX_CHARS);
    expect(text).not.toMatch(/"(minimum|maximum|additionalProperties|\$ref|\$schema)":/);
  });

  it("are only added at the end from stage to stage, so that the beginning is stable", async () => {
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

  it("work when they are called, even if they are not offered", async () => {
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
});

const shownOf = async (more: { readonly strict?: true }) => {
  const { all } = await toolboxWith({ look: { ...look, ...more } as ToolSet[string] });
  const found = (await definitionsOf(all)).find(({ name }) => name === "look");
  return JSON.stringify(found);
};

it("the schema of an agent's tool keeps keywords that providers require for strict tools", async () => {
  expect((await shownOf({ strict: true })).match(/"additionalProperties":false/g)).toHaveLength(2);
});
