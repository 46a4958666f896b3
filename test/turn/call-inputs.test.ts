import { jsonSchema, type JSONSchema7, tool } from "ai";
import { expect, it } from "vitest";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
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
const rows: readonly [what: string, written: string, taken: unknown][] = [
  ["nothing", "", {}],
  ["null", "null", {}],
  [
    "an object in quotes (smolagents#1003, quarkus-langchain4j#2642)",
    '"{\\"any\\":1}"',
    { any: 1 },
  ],
  [
    "an object twice (eliza#16973, 9router#3779)",
    '{"any":{"a":[{}]}}{"any":{"a":[{}]}}',
    { any: { a: [{}] } },
  ],
  [
    "an object and all before it (hermes-agent#35718)",
    '{{"an{"any":{{"any":{"a":1}}',
    { any: { a: 1 } },
  ],
  ["two objects", '{"any":1}{"any":2}', undefined],
  ["an object after another text", 'x{"any":1}', undefined],
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

it.each(rows)("a tool takes %s", async (_what, written, taken) => {
  const inputs: unknown[] = [];
  const act = tool({
    inputSchema: jsonSchema<unknown>(schema),
    execute: (input) => void inputs.push(input),
  });
  const conversation = new Conversation({ tools: { act } });
  await conversation.store.save({ name: "evil", value: '"},{"on":true' });
  const steps = [
    [toolCall("act", written), finish("tool-calls")],
    [text("Done."), finish()],
  ];
  await conversation.say({ steps });
  expect(inputs).toEqual(taken === undefined ? [] : [taken]);
});

it("edits may be in quotes", async () => {
  const conversation = new Conversation({});
  await conversation.store.save({ name: "note", value: "old words" });
  const edits = JSON.stringify([{ find: "old", replace: "new" }]);
  const input = { name: "note", edits };
  await conversation.say({
    steps: [
      [toolCall("edit_variable", input), finish("tool-calls")],
      [text("Done."), finish()],
    ],
  });
  expect(await conversation.store.read("note")).toBe("new words");
});
