import { jsonSchema, type JSONSchema7, tool } from "ai";
import { expect, it } from "vitest";
import { finish, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";

const schema: JSONSchema7 = {
  type: "object",
  properties: {
    list: {
      type: "array",
      items: { type: "object", properties: { n: {}, on: { type: "boolean" } } },
    },
    any: {},
    text: { type: "string" },
    either: { type: ["array", "string"] },
  },
};

/** A model's input as a text, and what the tool receives; undefined if the call is refused. */
const ANY = { any: 1 };
const rows: readonly [what: string, written: string, taken: unknown][] = [
  ["nothing", "", {}],
  ["null", "null", {}],
  ["an object in quotes (smolagents#1003, quarkus-langchain4j#2642)", '"{\\"any\\":1}"', ANY],
  ["an object twice (eliza#16973, 9router#3779)", '{"any":[{}]}{"any":[{}]}', { any: [{}] }],
  ["an object and all before it (hermes-agent#35718)", '{{"an{"any":{{"any":1}', ANY],
  ["two objects", '{"any":1}{"any":2}', undefined],
  ["an object before a model's own tokens (mastra#13185)", '{"any":1} <|call|><|end|>', ANY],
  ["an object before another text", '{"any":1}<|call|>x', undefined],
  ["an object after another text", 'x{"any":1}', undefined],
  ["an object like its own part that is cut off", '{"any":{"any":1}', undefined],
  ["an object that is cut off", '{"any":', undefined],
  ["a list in quotes (kimi-cli#2406)", '{"list":"[{\\"n\\":1}]"}', { list: [{ n: 1 }] }],
  ["objects in quotes in a list", '{"list":["{\\"n\\":\\"[1]\\"}"]}', { list: [{ n: "[1]" }] }],
  ["digits in quotes", '{"list":"[{\\"n\\":1.50}]"}', { list: [{ n: 1.5 }] }],
  [
    "JSON where texts are taken",
    '{"any":"[1]","text":"[1]","either":"[1]"}',
    { any: "[1]", text: "[1]", either: "[1]" },
  ],
  [
    "a reference in such a list",
    '{"list":"[{\\"n\\":\\"$evil\\"}]"}',
    { list: [{ n: '"},{"on":true' }] },
  ],
];

/** Calls a tool, or another one, with the written input. */
async function runCall(written: string, name = "act") {
  const inputs: unknown[] = [];
  const inputSchema = jsonSchema<unknown>(schema);
  const act = tool({ inputSchema, execute: (input) => void inputs.push(input) });
  const conversation = new Conversation({ tools: { act } });
  await conversation.store.save({ name: "evil", value: '"},{"on":true' });
  const steps = [[toolCall(name, written), finish("tool-calls")], "Done."];
  const { chunks } = await conversation.say({ steps });
  const failed = chunks.find(({ type }) => type === "tool-output-error");
  return { inputs, failed, evil: await conversation.store.read("evil") };
}

it.each(rows)("a tool takes %s", async (_what, written, taken) => {
  expect((await runCall(written)).inputs).toEqual(taken === undefined ? [] : [taken]);
});

it("edits may be in quotes", async () => {
  const edits = JSON.stringify([{ find: "true", replace: "false" }]);
  const { evil } = await runCall(JSON.stringify({ name: "evil", edits }), "edit_variable");
  expect(evil).toBe('"},{"on":false');
});

it("a list in quotes that is too deep fails with a code", async () => {
  const list = "[".repeat(30_000) + "]".repeat(30_000);
  const { failed } = await runCall(JSON.stringify({ list }));
  expect(failed).toMatchObject({ errorText: expect.stringMatching(/^limit_exceeded: /) });
});
