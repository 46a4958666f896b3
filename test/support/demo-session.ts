import type {
  JSONValue,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
} from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import { orders } from "../../examples/agents/orders.ts";
import { createWeather } from "../../examples/agents/weather.ts";
import { demoModel } from "../../examples/demo-model/demo-model.ts";

const weather = createWeather({ now: () => new Date("2025-07-15T00:00:00Z") });
const everyTool: ToolSet = { ...weather.tools, ...orders.tools };

type Called = { readonly toolName: string; readonly input: unknown };

/** A conversation as in the runtime, with real tools, named results and handles. */
export class Session {
  readonly prompt: LanguageModelV4Prompt = [{ role: "system", content: "You are an agent." }];
  readonly variables = new Map<string, unknown>();
  readonly tools: ToolSet;
  readonly nameOf: (toolName: string, input: unknown, number: number) => string;
  readonly model: LanguageModelV4 = demoModel();

  constructor(tools: ToolSet = everyTool, nameOf: Session["nameOf"] = usualName) {
    this.tools = tools;
    this.nameOf = nameOf;
  }

  /** Asks a question. Returns the calls of each step, and the answer as the model wrote it. */
  async ask(question: string): Promise<{ steps: Called[][]; answer: string }> {
    this.prompt.push({ role: "user", content: [{ type: "text", text: question }] });
    const steps: Called[][] = [];
    for (let count = 0; count < 8; count += 1) {
      const { content } = await this.model.doGenerate({
        prompt: this.prompt,
        tools: offer(this.tools),
      });
      const calls = content.filter((part) => part.type === "tool-call");
      if (calls.length === 0) return { steps, answer: this.answered(content) };
      steps.push(calls.map((call) => ({ toolName: call.toolName, input: JSON.parse(call.input) })));
      await this.run(calls);
    }
    throw new Error("The model did not come to an answer");
  }

  private answered(content: readonly { type: string; text?: string }[]): string {
    const text = content.map((part) => part.text ?? "").join("");
    this.prompt.push({ role: "assistant", content: [{ type: "text", text }] });
    return text;
  }

  private async run(calls: readonly LanguageModelV4ToolCall[]): Promise<void> {
    this.prompt.push({
      role: "assistant",
      content: calls.map(({ toolCallId, toolName, input }) => ({
        type: "tool-call",
        toolCallId,
        toolName,
        input: JSON.parse(input),
      })),
    });
    for (const { toolCallId, toolName, input } of calls) {
      const output = await this.execute(toolName, JSON.parse(input));
      this.prompt.push({
        role: "tool",
        content: [{ type: "tool-result", toolCallId, toolName, output }],
      });
    }
  }

  private async execute(toolName: string, input: Record<string, unknown>) {
    const resolved = Object.fromEntries(
      Object.entries(input).map(([key, value]) => [key, this.resolve(value)]),
    );
    try {
      const options = { toolCallId: "call", messages: [], context: {} };
      const value: unknown = await this.tools[toolName]?.execute?.(resolved, options);
      const name = this.nameOf(toolName, input, this.variables.size + 1);
      this.variables.set(name, value);
      return { type: "json" as const, value: shown(name, value) };
    } catch (error) {
      return { type: "error-text" as const, value: error instanceof Error ? error.message : "" };
    }
  }

  /**
   * Returns the value of a reference such as `$name[0].key`, and any other value unchanged. Throws if the name or
   * path does not exist.
   */
  resolve(text: unknown): unknown {
    if (typeof text !== "string" || !text.startsWith("$")) return text;
    const [name = "", ...path] = text.slice(1).replaceAll("[", ".").replaceAll("]", "").split(".");
    let value: unknown = this.variables.get(name);
    for (const key of path) value = Object.entries(value ?? {}).find(([own]) => own === key)?.[1];
    if (value === undefined) throw new TypeError(`Nothing at ${text}`);
    return value;
  }

  /** Returns the answer as the user sees it. */
  expand(answer: string): string {
    return answer.replaceAll(/\$[a-z_0-9]+(?:\.[a-z_]+|\[\d+\])*/gu, (text) => {
      const value = this.resolve(text);
      return typeof value === "string" ? value : JSON.stringify(value);
    });
  }
}

function usualName(toolName: string, input: unknown, number: number): string {
  const location: unknown = Object.entries(input ?? {}).find(([key]) => key === "location")?.[1];
  const slug = String(location ?? number).toLowerCase();
  return `${toolName}_${slug.replaceAll(/[^a-z0-9]+/gu, "_")}`;
}

function shown(name: string, value: unknown): JSONValue {
  const text = JSON.stringify(value);
  if (text.length <= 1_000) return { $var: name, value: JSON.parse(text) };
  const count = Array.isArray(value) ? value.length : Object.keys(Object(value)).length;
  return {
    $var: name,
    type: Array.isArray(value) ? "array" : typeof value,
    count: typeof value === "string" ? value.length : count,
    bytes: text.length,
    shape: Array.isArray(value) ? "{id: string, customer: string, total: number}[]" : typeof value,
    preview: text.slice(0, 100),
    try: [`$${name}[0].id`, `$${name}[*].total`],
  };
}

function offer(tools: ToolSet): LanguageModelV4FunctionTool[] {
  return Object.entries(tools).map(([name, { description }]) => ({
    type: "function",
    name,
    description: typeof description === "string" ? description : "",
    inputSchema: { type: "object" },
  }));
}

export function asking(question: string): LanguageModelV4CallOptions {
  return {
    prompt: [{ role: "user", content: [{ type: "text", text: question }] }],
    tools: offer(everyTool),
  };
}

export async function partsOf(
  options: LanguageModelV4CallOptions,
): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await demoModel().doStream(options);
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

type Output = Extract<
  Extract<LanguageModelV4Prompt[number], { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];

/** The prompt with the model's own next call answered by `output`. */
export function withResult(
  options: LanguageModelV4CallOptions,
  output: Output,
  toolCallId = "call_1",
): LanguageModelV4CallOptions {
  const asksWeather = JSON.stringify(options.prompt).includes("Weather");
  const toolName = asksWeather ? "get_weather" : "list_orders";
  const asked = JSON.stringify(options.prompt).includes("Rome") ? "Rome" : "NYC";
  const input = asksWeather ? { location: asked } : {};
  return {
    ...options,
    prompt: [
      ...options.prompt,
      { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName, input }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
    ],
  };
}
