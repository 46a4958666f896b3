import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { codeTool } from "../../src/tool/code/code-tool.ts";
import { promptStages } from "../../src/tool/runtime-tool.ts";
import { prepareModelCall } from "../../src/turn/model/prepare-model-call.ts";
import { Toolbox } from "../../src/turn/toolbox.ts";
import { finish, scriptedModel, text, toolCall } from "../support/scripted-model.ts";
import { Conversation } from "../support/turn.ts";

const MAX_CHARS = 3_000;

/** No tool is run. */
const refused = () => Promise.reject(new Error("Not in this test."));

function openToolbox() {
  return Toolbox.open(
    { name: "bare", description: "", instructions: "", tools: {} },
    { store: new MemoryStore() },
    {
      code: (options) => codeTool({ ...options, sandbox: { run: refused } }),
      files: { write: refused, read: refused, info: refused, list: refused },
    },
  );
}

/** The definitions as a provider receives them. */
async function definitionsOf(tools: Toolbox["all"]) {
  const model = scriptedModel([]);
  const signal = new AbortController().signal;
  const messages = [{ role: "user" as const, content: "?" }];
  const { options } = await prepareModelCall({ model, instructions: "", messages, tools, signal });
  return options.tools ?? [];
}

describe("the runtime's own tools", () => {
  it("take at most 3,000 characters together, without bounds that they check themselves", async () => {
    const definitions = JSON.stringify(await definitionsOf((await openToolbox()).all));
    expect(definitions.length).toBeLessThanOrEqual(MAX_CHARS);
    expect(definitions).not.toMatch(/"(minimum|maximum|additionalProperties|\$ref)":/);
  });

  it("are only added at the end from stage to stage, so that what was offered stays", async () => {
    const toolbox = await openToolbox();
    const offered = await Promise.all(
      promptStages.map(async (stage) =>
        (await definitionsOf(toolbox.offeredAt(stage))).map(({ name }) => name),
      ),
    );
    const [start = [], variable = [], all = []] = offered;
    expect(start.toSorted()).toEqual(["run_code", "set_variable"]);
    expect(variable.slice(0, start.length)).toEqual(start);
    expect(all.slice(0, variable.length)).toEqual(variable);
    expect(variable).toEqual(expect.arrayContaining(["list_variables", "read_variable"]));
    expect(all).toEqual(expect.arrayContaining(["search_variable", "export_variable"]));
  });

  it("work when they are called, offered or not", async () => {
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
