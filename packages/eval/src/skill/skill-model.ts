import { createHash } from "node:crypto";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { toolOutputs } from "../../../../src/internal-tool.ts";
import { scriptedModel } from "../../../testing/src/testing/scripted-model.ts";
import { finish, text, toolCall } from "../../../testing/src/testing/stream-parts.ts";
import { Random } from "../random.ts";
import { Hand } from "./hand.ts";
import { type Reply, rules } from "./rules.ts";
import { sightOf } from "./sight.ts";
import type { Skill } from "./skills.ts";

/** A model that does the tasks from the text of its prompts alone. The same prompt has the same reply. */
export function skillModel(skill: Skill): LanguageModelV4 {
  const playing = (options: LanguageModelV4CallOptions) => {
    const reply = replyTo(options, skill);
    const digest = digestOf(options.prompt).toString("hex").slice(0, 12);
    const parts =
      "text" in reply
        ? [text(reply.text)]
        : reply.calls.map(({ tool, input }, index) =>
            toolCall(tool, input, { id: `call_${digest}_${index}` }),
          );
    const [input, output] = [[options.prompt, options.tools], reply].map((value) =>
      Math.ceil(JSON.stringify(value).length / toolOutputs.CHARS_PER_TOKEN),
    );
    const end = finish("text" in reply ? "stop" : "tool-calls", {
      input: input ?? 0,
      output: output ?? 0,
    });
    return scriptedModel([[...parts, end]]);
  };
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId: skill.name,
    supportedUrls: {},
    doGenerate: (options) => playing(options).doGenerate(options),
    doStream: (options) => playing(options).doStream(options),
  };
}

/** What a model does wrong in a whole conversation depends on its question. */
function replyTo({ prompt, tools = [] }: LanguageModelV4CallOptions, skill: Skill): Reply {
  const sight = sightOf(prompt, tools);
  const conversation = randomOf([skill.name, sight.question]);
  const random = randomOf([skill.name, prompt]);
  const ignoresGuide = conversation.chance(skill.ignoresGuide);
  const hand = new Hand(sight, { skill, random, ignoresGuide });
  for (const { pattern, reply } of rules) {
    const found = pattern.exec(sight.question);
    if (found !== null) return reply({ sight, hand, parts: found.slice(1) });
  }
  return { text: "I do not understand the question." };
}

function randomOf(value: unknown): Random {
  return new Random(digestOf(value).readUInt32LE(0));
}

function digestOf(value: unknown): Buffer {
  return createHash("sha256").update(JSON.stringify(value)).digest();
}
