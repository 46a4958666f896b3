import { expect, it } from "vitest";
import { capabilityModel } from "../../../packages/plan-formats/src/capability/capability-model.ts";
import { finish, scriptedModel, text } from "../../../packages/testing/src/testing.ts";

it("a model's tags are calls in workerd, too, however they are split", async () => {
  const answer = 'So: <capability name="act" n="1" /> Done.';
  const model = capabilityModel(scriptedModel([[text(answer, { chunks: 3 }), finish()]]), {
    tools: {},
    newId: () => "c",
  });
  const { stream } = await model.doStream({ prompt: [] });
  const types: string[] = [];
  for await (const { type } of stream) if (types.at(-1) !== type) types.push(type);
  expect(types).toEqual([
    "text-start",
    "text-delta",
    "text-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-end",
    "tool-call",
    "text-start",
    "text-delta",
    "text-end",
    "finish",
  ]);
});
