import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { generateText, isStepCount, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { callsOf, type Part, scriptedModel, type Step } from "../../src/testing.ts";

const OPTIONS: LanguageModelV4CallOptions = {
  prompt: [{ role: "user", content: [{ type: "text", text: "Go." }] }],
};

async function streamed(step: Step): Promise<readonly Part[]> {
  const { stream } = await scriptedModel([step]).doStream(OPTIONS);
  const parts: Part[] = [];
  await stream.pipeTo(new WritableStream({ write: (part) => void parts.push(part) }));
  return parts;
}

async function generated(step: Step) {
  return scriptedModel([step]).doGenerate(OPTIONS);
}

const call = (input: unknown, more = {}) => ({ tool: "look", input, ...more });
const look = tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => `saw ${at}` });

describe("a step", () => {
  it("with text is streamed in deltas that split references but not characters", async () => {
    const parts = await streamed("$a😀bc");
    const deltas = parts.flatMap((part) => (part.type === "text-delta" ? [part.delta] : []));
    expect(deltas).toEqual(["$a😀", "bc"]);
    expect(parts.at(-1)).toMatchObject({ type: "finish", finishReason: { unified: "stop" } });
  });

  it("with an error fails the call, and with an error in a list breaks the stream after the rest", async () => {
    await expect(streamed(new Error("down"))).rejects.toThrow("down");
    const { stream } = await scriptedModel([["Half", new Error("cut")]]).doStream(OPTIONS);
    const reader = stream.getReader();
    const read: string[] = [];
    const all = async () => {
      for (;;) read.push((await reader.read()).value?.type ?? "end");
    };
    await expect(all()).rejects.toThrow("cut");
    expect(read).toContain("text-delta");
    await expect(generated(["Half", new Error("cut")])).rejects.toThrow("cut");
  });

  it("with a function sees the prompt, and returns any other step", async () => {
    const echo = ({ prompt }: LanguageModelV4CallOptions) => JSON.stringify(prompt.at(-1)?.content);
    expect((await generated(echo)).content).toMatchObject([
      { text: '[{"type":"text","text":"Go."}]' },
    ]);
    expect((await generated(async () => call({}))).content).toMatchObject([{ toolName: "look" }]);
    async function* slowly() {
      yield "One.";
      yield call({});
    }
    expect((await generated(slowly)).content).toMatchObject([{ text: "One." }, { input: "{}" }]);
  });
});

it.each([
  ["generated", generateText],
  ["streamed", streamText],
])("the recorded calls of the model are readable, one by one (%s)", async (_, run) => {
  const model = scriptedModel([call({ at: "sea" }), "Done."]);
  const asked = run({
    model,
    tools: { look },
    instructions: "Be brief.",
    prompt: "Look.",
    stopWhen: isStepCount(2),
  });
  expect(await (await asked).text).toBe("Done.");
  const [first, second, ...others] = callsOf(model);
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    instructions: "Be brief.",
    messages: [{ role: "user", text: "Look.", chars: 5 }],
    tools: ["look"],
  });
  expect(second?.messages.map(({ role, text }) => [role, text])).toEqual([
    ["user", "Look."],
    ["assistant", 'look({"at":"sea"})'],
    ["tool", "look: saw sea"],
  ]);
  const definitions = JSON.stringify(model.calls[0]?.tools).length;
  expect(first?.toolChars).toBe(definitions);
  expect(first?.sentChars).toBe("Be brief.".length + "Look.".length + definitions);
});
