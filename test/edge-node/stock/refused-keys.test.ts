import { secureJsonParse } from "@ai-sdk/provider-utils";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { expectSame, loaded, stockChat } from "../../support/stock-chat.ts";
import { framesIn } from "../../support/turn-client.ts";
import { callsOf, finish, type Step, scriptedModel, text, toolCall } from "byref/testing";

const asked = finish("tool-calls");
const done: Step = [text("Done."), finish()];
const act = tool({ inputSchema: z.object({ n: z.unknown().optional() }), execute: () => 1 });

/** An agent with a tool that returns this JSON, and one that waits for a person. */
function options(returned: string, first: Step) {
  const inputSchema = z.object({ n: z.unknown().optional() });
  const fetch_it = tool({ inputSchema, execute: () => JSON.parse(returned) as unknown });
  const agent: Agent = {
    name: "a",
    description: "",
    instructions: "",
    tools: { fetch_it, act },
  };
  const model = scriptedModel([first, done, done]);
  return { agents: [agent] as const, model };
}

const put = (own: OwnRuntime, body: string) =>
  own.call("PUT", "/conversations/c/variables/given", {
    body,
    headers: { "content-type": "application/json" },
  });
const get = async (own: OwnRuntime, name: string) =>
  (await own.call("GET", `/conversations/c/variables/${name}`)).text();

/** Requires that a stock client accepts all that it may receive of the newest turn. */
async function expectStrict(own: OwnRuntime): Promise<void> {
  const resumed = await own.call("GET", "/conversations/c/stream?after=0");
  const frames = framesIn(await resumed.text()).filter(({ data }) => data !== "[DONE]");
  expect(frames.length).toBeGreaterThan(3);
  for (const { data } of frames) expect(() => secureJsonParse(data)).not.toThrow();
  const history = await (await own.call("GET", "/conversations/c/messages")).text();
  expect(() => secureJsonParse(history)).not.toThrow();
  await loaded(own);
}

/** JSON that the SDK's clients refuse to parse. */
const refused = [
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{"a":1}}}',
  '[{"id":1,"tags":[{"__proto__":null}]}]',
];

/** How a value gets into a stream: the model's first step. */
const ways: Readonly<Record<string, Step>> = {
  "a tool's result": [toolCall("fetch_it", {}), asked],
  read_variable: [toolCall("read_variable", { name: "given" }), asked],
};

describe.each(refused)("the value %s", (value) => {
  it.each(Object.entries(ways))(
    "does not end the stream of a stock client: %s",
    async (_way, step) => {
      await withRuntime(options(value, step), async (own) => {
        await put(own, value);
        const chat = stockChat(own);
        await chat.sendMessage({ text: "Go." });
        await expectSame(own, chat);
        await expectStrict(own);
      });
    },
  );

  it("is stored unchanged, and shown as a handle", async () => {
    await withRuntime(options(value, ways["a tool's result"] ?? done), async (own) => {
      const chat = stockChat(own);
      await chat.sendMessage({ text: "Go." });
      const part = chat.messages[1]?.parts[1];
      expect(part).toMatchObject({ output: { $var: "fetch_it_1", bytes: value.length } });
      expect(part).not.toHaveProperty("output.value");
      expect(await get(own, "fetch_it_1")).toBe(value);
    });
  });

  it("of a provider's own tool is sent as its JSON text", async () => {
    const call = toolCall("search", {}).map((part) => ({ ...part, providerExecuted: true }));
    const result = JSON.parse(value) as never;
    const found = {
      type: "tool-result",
      toolCallId: "call_search",
      toolName: "search",
      result,
    } as const;
    await withRuntime(options("1", [...call, found, ...(done as [])]), async (own) => {
      const chat = stockChat(own);
      await chat.sendMessage({ text: "Go." });
      await expectSame(own, chat);
      await expectStrict(own);
      expect(JSON.stringify(chat.messages[1])).toMatch(/proto/u);
    });
  });
});

it.each([
  '{"constructor":"Ferrari"}',
  '{"constructor":{"name":"Ferrari"}}',
  '{"prototype":1}',
  '["__proto__"]',
])("a value that clients accept is shown as it is: %s", async (value) => {
  await withRuntime(options(value, [toolCall("fetch_it", {}), asked]), async (own) => {
    const chat = stockChat(own);
    await chat.sendMessage({ text: "Go." });
    await expectSame(own, chat);
    expect(chat.messages[1]?.parts[1]).toMatchObject({ output: { value: JSON.parse(value) } });
  });
});

describe("an input that the model wrote itself", () => {
  it.each(refused)("is refused with the reason: %s", async (value) => {
    const step = [toolCall("act", `{"n":${value}}`, { chunks: 3 }), asked].flat();
    const setup = options("1", step);
    await withRuntime(setup, async (own) => {
      const chat = stockChat(own);
      await chat.sendMessage({ text: "Go." });
      await expectSame(own, chat);
      await expectStrict(own);
      const errorText = expect.stringMatching(
        /^invalid_tool_input: The input has a key `__proto__`/,
      );
      expect(chat.messages[1]?.parts[1]).toMatchObject({ state: "output-error", errorText });
      expect(JSON.stringify(callsOf(setup.model).at(-1))).toContain("The input has a key");
    });
  });
});
