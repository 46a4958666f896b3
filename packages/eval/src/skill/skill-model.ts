import type { LanguageModelV4, LanguageModelV4Message } from "@ai-sdk/provider";
import { scriptedModel, type Step } from "../../../testing/src/testing/scripted-model.ts";
import { finish, text, toolCall } from "../../../testing/src/testing/stream-parts.ts";
import type { ChatMessage, Reply } from "./chat-request.ts";
import type { Skill } from "./skills.ts";
import { solve } from "./solve.ts";

const CHARS_PER_TOKEN = 4;
/** No cell has more. */
const MAX_CALLS = 100;

/** A model of this skill in this process, without a server. It sees what a provider would send. */
export function skillModel(skill: Skill): LanguageModelV4 {
  let calls = 0;
  const step: Step = ({ prompt, tools = [] }) => {
    const messages = prompt.flatMap(messagesOf);
    const named = tools.map(({ name }) => ({ function: { name } }));
    const reply = solve({ messages, tools: named }, skill);
    const sizes = [prompt, tools].map((value) => JSON.stringify(value).length);
    const input = Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / CHARS_PER_TOKEN);
    const output = Math.ceil(JSON.stringify(reply).length / CHARS_PER_TOKEN);
    return [
      ...partsOf(reply, ++calls),
      finish(isText(reply) ? "stop" : "tool-calls", { input, output }),
    ];
  };
  return scriptedModel(Array.from({ length: MAX_CALLS }, () => step));
}

function isText(reply: Reply): reply is Extract<Reply, { readonly text: string }> {
  return "text" in reply;
}

function partsOf(reply: Reply, call: number) {
  if (isText(reply)) return [text(reply.text)];
  return reply.calls.map(({ tool, input }, index) =>
    toolCall(tool, input, { id: `estimated_${call}_${index}` }),
  );
}

/** Converts a message as providers of chat completions do. */
function messagesOf(message: LanguageModelV4Message): readonly ChatMessage[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: message.content.map((part) => ({ ...textIn(part) })) }];
    case "assistant":
      return [
        {
          role: "assistant",
          content: message.content.map((part) => ({ ...textIn(part) })),
          tool_calls: message.content.flatMap((part) =>
            part.type === "tool-call"
              ? [
                  {
                    id: part.toolCallId,
                    function: { name: part.toolName, arguments: JSON.stringify(part.input) },
                  },
                ]
              : [],
          ),
        },
      ];
    case "tool":
      return message.content.flatMap((part) => {
        if (part.type !== "tool-result") return [];
        const { output } = part;
        const value = "value" in output ? output.value : "";
        const content =
          typeof value === "string" && output.type !== "json" ? value : JSON.stringify(value);
        return [{ role: "tool" as const, content, tool_call_id: part.toolCallId }];
      });
  }
}

function textIn(part: { readonly type: string }): { readonly text?: string } {
  return "text" in part && typeof part.text === "string" ? { text: part.text } : {};
}
