import type {
  JSONValue,
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import * as z from "zod";
import { demoModel } from "../../packages/testing/src/demo.ts";

/** A model's prompt. */
export interface Asked {
  readonly tools?: readonly LanguageModelV4FunctionTool[];
  /** Lines of the list of variables. */
  readonly listed?: readonly string[];
  /** Calls since the question, with their results. */
  readonly called?: readonly Called[];
  /** Calls of an earlier turn. */
  readonly earlier?: readonly Called[];
  readonly model?: LanguageModelV4;
}

type Called = readonly [tool: string, input: JSONValue, output: JSONValue];

/** Returns the demo model's calls as `tool {"input": …}`, or its text. */
export async function firstStep(question: string, asked: Asked = {}): Promise<string> {
  const { tools = [], listed = [], called = [], earlier = [], model = demoModel() } = asked;
  const prompt: LanguageModelV4Prompt = [
    { role: "system", content: "You are an agent." },
    { role: "user", content: [{ type: "text", text: "And before?" }] },
    ...messagesOf(earlier, "earlier"),
    { role: "user", content: [{ type: "text", text: question }] },
    ...messagesOf(called, "call"),
  ];
  if (listed.length > 0) {
    const text = ["<variables>", ...listed, "</variables>"].join("\n");
    prompt.push({ role: "user", content: [{ type: "text", text }] });
  }
  const { content } = await model.doGenerate({ prompt, tools: [...tools] });
  return content
    .map((part) => {
      if (part.type === "tool-call") return `${part.toolName} ${part.input}`;
      return part.type === "text" ? part.text : "";
    })
    .join("\n");
}

function messagesOf(calls: readonly Called[], prefix: string): LanguageModelV4Prompt {
  return calls.flatMap(([toolName, input, value], at): LanguageModelV4Prompt => {
    const toolCallId = `${prefix}_${at + 1}`;
    const output = { type: "json", value } as const;
    return [
      { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName, input }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
    ];
  });
}

/** A tool whose parameters also accept references, as offered to models. */
export function offered(
  name: string,
  description: string,
  parameters: z.ZodRawShape = {},
): LanguageModelV4FunctionTool {
  const { properties = {}, required } = z.toJSONSchema(z.object(parameters));
  const widened = Object.entries(properties).map(([key, schema]) => {
    const isText = typeof schema === "object" && schema.type === "string" && !("enum" in schema);
    const reference = { type: "string", description: "or a $reference" };
    return [key, isText ? schema : { anyOf: [schema, reference] }];
  });
  const inputSchema = {
    type: "object" as const,
    properties: Object.fromEntries(widened),
    ...(required === undefined ? {} : { required }),
  };
  return { type: "function", name, description, inputSchema };
}
