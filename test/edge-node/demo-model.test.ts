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
import { describe, expect, it } from "vitest";
import { orders } from "../../src/agents/orders.ts";
import { createWeather } from "../../src/agents/weather.ts";
import { demoModel } from "../../src/edge/demo-model.ts";

const weather = createWeather({ now: () => new Date("2025-07-15T00:00:00Z") });
const everyTool: ToolSet = { ...weather.tools, ...orders.tools };

type Called = { readonly toolName: string; readonly input: unknown };

/** A conversation as the runtime leads it: real tools, results kept by name, handles shown. */
class Session {
  readonly prompt: LanguageModelV4Prompt = [{ role: "system", content: "You are an agent." }];
  readonly variables = new Map<string, unknown>();
  readonly tools: ToolSet;
  readonly nameOf: (toolName: string, input: unknown, number: number) => string;
  readonly model: LanguageModelV4 = demoModel();

  constructor(tools: ToolSet = everyTool, nameOf: Session["nameOf"] = usualName) {
    this.tools = tools;
    this.nameOf = nameOf;
  }

  /** The calls of each step, and the answer as the model wrote it. */
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

  /** Replaces a whole `$name[0].key`; a name or path that does not exist fails the test. */
  resolve(text: unknown): unknown {
    if (typeof text !== "string" || !text.startsWith("$")) return text;
    const [name = "", ...path] = text.slice(1).replaceAll("[", ".").replaceAll("]", "").split(".");
    let value: unknown = this.variables.get(name);
    for (const key of path) value = Object.entries(value ?? {}).find(([own]) => own === key)?.[1];
    if (value === undefined) throw new TypeError(`Nothing at ${text}`);
    return value;
  }

  /** The answer as the user sees it. */
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

function asking(question: string): LanguageModelV4CallOptions {
  return {
    prompt: [{ role: "user", content: [{ type: "text", text: question }] }],
    tools: offer(everyTool),
  };
}

async function partsOf(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await demoModel().doStream(options);
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe("weather questions", () => {
  it("calls get_weather with the place as written, then answers by reference", async () => {
    const session = new Session();
    const { steps, answer } = await session.ask("What's the weather in NYC?");
    expect(steps).toEqual([[{ toolName: "get_weather", input: { location: "NYC" } }]]);
    expect(answer).toBe(
      "It is $get_weather_nyc.temperature °C in $get_weather_nyc.city with " +
        "$get_weather_nyc.humidity % humidity: $get_weather_nyc.conditions.",
    );
    expect(session.expand(answer)).toBe(
      "It is 25.5 °C in New York with 65 % humidity: warm and fair.",
    );
  });

  it("compares with the city of an earlier turn, passing both readings by reference", async () => {
    const session = new Session();
    await session.ask("What's the weather in NYC?");
    const { steps, answer } = await session.ask("What about London? Then compare them.");
    expect(steps).toEqual([
      [{ toolName: "get_weather", input: { location: "London" } }],
      [
        {
          toolName: "compare_weather",
          input: { city1: "$get_weather_nyc", city2: "$get_weather_london" },
        },
      ],
    ]);
    expect(answer.endsWith("\n\n$compare_weather_3.summary")).toBe(true);
    expect(session.expand(answer)).toContain("New York is 6.5 °C warmer than London");
  });

  it("fetches several cities in one step and compares the first with each other one", async () => {
    const { steps } = await new Session().ask("Compare Paris, Rome and Oslo (Paris most of all)");
    expect(steps.map((calls) => calls.map(({ input }) => input))).toEqual([
      [{ location: "Paris" }, { location: "Rome" }, { location: "Oslo" }],
      [
        { city1: "$get_weather_paris", city2: "$get_weather_rome" },
        { city1: "$get_weather_paris", city2: "$get_weather_oslo" },
      ],
    ]);
  });

  it("compares the two newest cities when the question names none", async () => {
    const session = new Session();
    for (const city of ["Madrid", "Tokyo", "Lima"]) await session.ask(`And ${city}?`);
    const { steps } = await session.ask("Compare them");
    expect(steps).toHaveLength(1);
    expect(steps[0]?.[0]?.input).toEqual({
      city1: "$get_weather_tokyo",
      city2: "$get_weather_lima",
    });
  });

  it("asks for a second city when there is only one to compare", async () => {
    const { steps, answer } = await new Session().ask("Compare London");
    expect(steps).toHaveLength(1);
    expect(answer).toContain("Name two cities to compare");
  });

  it("asks again in a later turn, because weather changes", async () => {
    const session = new Session();
    await session.ask("Weather in NYC?");
    expect((await session.ask("Weather in NYC?")).steps).toHaveLength(1);
  });

  it("tries an unknown city and says what the error said", async () => {
    const { steps, answer } = await new Session().ask("What's the weather in Atlantis, please?");
    expect(steps).toEqual([[{ toolName: "get_weather", input: { location: "Atlantis" } }]]);
    expect(answer).toContain('I could not use get_weather for Atlantis: Unknown city "Atlantis".');
  });

  it("keeps a place of several words, and drops the words about time after it", async () => {
    const { steps } = await new Session().ask("how hot is it in El Dorado right now");
    expect(steps[0]?.[0]?.input).toEqual({ location: "El Dorado" });
  });

  it("asks which city is meant", async () => {
    const { steps, answer } = await new Session().ask("How is the weather?");
    expect([steps.length, answer.startsWith("Which city?")]).toEqual([0, true]);
  });

  it("takes names from the results and never makes them up", async () => {
    const session = new Session(everyTool, (_tool, _input, number) => `kept_${number}`);
    await session.ask("Weather in NYC?");
    const { steps, answer } = await session.ask("Compare it with London");
    expect(steps[1]?.[0]?.input).toEqual({ city1: "$kept_1", city2: "$kept_2" });
    expect(answer).toContain("$kept_3.summary");
  });

  it("shows the whole variable when the result has not the fields of a sentence", async () => {
    const options = asking("Weather in NYC?");
    const value = { $var: "w", value: { temp: 72 } };
    const { content } = await demoModel().doGenerate(withResult(options, { type: "json", value }));
    expect(content).toEqual([{ type: "text", text: "Here is the weather:\n\n$w" }]);
  });
});

describe("order questions", () => {
  it("lists the orders and says how many the handle counts", async () => {
    const session = new Session();
    const { steps, answer } = await session.ask("How many orders do I have?");
    expect(steps).toEqual([[{ toolName: "list_orders", input: {} }]]);
    expect(answer).toContain("There are 5000 orders");
    expect(answer).toContain("The first is $list_orders_1[0].id ");
    expect(session.expand(answer)).toContain("The first is ord_00001 ");
  });

  it("filters by a status that the question names", async () => {
    const { steps, answer } = await new Session().ask("Show my refunded orders");
    expect(steps[0]?.[0]?.input).toEqual({ status: "refunded" });
    expect(answer).toMatch(/^There are \d+ refunded orders/u);
  });

  it("shows the monthly totals as a block: the reference alone on its line", async () => {
    const session = new Session();
    const { steps, answer } = await session.ask("Give me the monthly totals");
    expect(steps).toEqual([
      [{ toolName: "list_orders", input: {} }],
      [{ toolName: "monthly_totals", input: { orders: "$list_orders_1" } }],
    ]);
    expect(answer).toContain("Here are the monthly totals:\n\n$monthly_totals_2\n\n");
  });

  it("reuses the list of an earlier turn, the newest one without a filter", async () => {
    const session = new Session();
    await session.ask("Show my orders");
    await session.ask("Show my pending orders");
    const { steps } = await session.ask("And the totals?");
    expect(steps).toEqual([[{ toolName: "monthly_totals", input: { orders: "$list_orders_1" } }]]);
  });

  it("summarizes with an array and a string by reference", async () => {
    const session = new Session();
    const { steps, answer } = await session.ask("Summarize my orders");
    expect(steps[1]?.[0]?.input).toEqual({
      orders: "$list_orders_1",
      currency: "$list_orders_1[0].currency",
    });
    expect(session.expand(answer)).toMatch(/^5000 orders come to [\d.]+ USD, [\d.]+ USD each/u);
  });

  it("writes a report from two parallel results; the answer is one reference", async () => {
    const session = new Session();
    const { steps, answer } = await session.ask("Write me a report");
    expect(steps.map((calls) => calls.map(({ toolName }) => toolName))).toEqual([
      ["list_orders"],
      ["monthly_totals", "summarize_orders"],
      ["write_report"],
    ]);
    expect(steps[2]?.[0]?.input).toEqual({
      title: "Orders in 2025",
      totals: "$monthly_totals_2",
      summary: "$summarize_orders_3",
    });
    expect(answer).toBe("$write_report_4");
    expect(session.expand(answer)).toContain("# Orders in 2025\n\n");
  });

  it("has a currency to pass, and no first order to show, when the list is empty", async () => {
    const value = { $var: "none", value: [] };
    const result = { type: "json", value } as const;
    const shownEmpty = await demoModel().doGenerate(withResult(asking("Show my orders"), result));
    expect(shownEmpty.content).toEqual([{ type: "text", text: "There are no orders." }]);
    const summed = await demoModel().doGenerate(withResult(asking("Summarize orders"), result));
    expect(summed.content).toMatchObject([{ input: '{"orders":"$none","currency":"USD"}' }]);
  });

  it.each([
    [{ type: "error-text", value: "No stock" } as const, "No stock"],
    [{ type: "error-json", value: { code: "x", message: "No stock" } } as const, "No stock"],
    [{ type: "error-json", value: { error: { message: "No stock" } } } as const, "No stock"],
    [{ type: "error-json", value: { code: "x" } } as const, '{"code":"x"}'],
    [{ type: "execution-denied", reason: "Not today" } as const, "Not today"],
    [{ type: "json", value: { error: "No stock" } } as const, "No stock"],
    [{ type: "json", value: [1] } as const, "its result was not kept as a variable: [1]"],
  ])("says what went wrong instead of calling again: %j", async (output, said) => {
    const { content } = await demoModel().doGenerate(withResult(asking("monthly totals"), output));
    expect(content).toEqual([{ type: "text", text: `I could not use list_orders: ${said}` }]);
  });
});

describe("questions about the model", () => {
  it.each(["Who are you?", "help", "Tell me a joke", ""])("introduces itself: %j", async (text) => {
    const { steps, answer } = await new Session().ask(text);
    expect(steps).toEqual([]);
    expect(answer).toMatch(/^I am the demo model of Byref: .* I can:\n\n- get_weather: /su);
    for (const name of Object.keys(everyTool)) expect(answer).toContain(`- ${name}: `);
  });

  it("lists only what is offered, and apart from that what it cannot use", async () => {
    const tools = { get_weather: weather.tools.get_weather, fly: weather.tools.get_weather };
    const { answer } = await new Session(tools).ask("help");
    expect(answer).not.toContain("list_orders");
    expect(answer).not.toContain("- fly");
    expect(answer).toContain("Also offered, but beyond a demo model: fly.");
  });

  it("says what it can do instead when a tool is not offered, before it calls any", async () => {
    const { write_report: _, ...rest } = orders.tools;
    const { steps, answer } = await new Session(rest).ask("Write a report");
    expect(steps).toEqual([]);
    expect(answer).toContain("because the tool write_report is not offered. I can:\n\n- list_");
  });

  it("calls nothing where tool choice forbids it", async () => {
    const options = { ...asking("Weather in NYC?"), toolChoice: { type: "none" } as const };
    const { content, finishReason } = await demoModel().doGenerate(options);
    expect(finishReason.unified).toBe("stop");
    expect(content[0]).toMatchObject({ type: "text" });
  });
});

describe("the stream", () => {
  it("gives a word and its white space at a time, and loses nothing", async () => {
    const parts = await partsOf(asking("who are you"));
    const deltas = parts.flatMap((part) => (part.type === "text-delta" ? [part.delta] : []));
    expect(deltas.slice(0, 3)).toEqual(["I ", "am ", "the "]);
    expect(deltas.every((delta) => /^\S+\s*$/u.test(delta))).toBe(true);
    const { content } = await demoModel().doGenerate(asking("who are you"));
    expect(content).toEqual([{ type: "text", text: deltas.join("") }]);
    expect([...new Set(parts.map((part) => part.type))]).toEqual([
      "stream-start",
      "response-metadata",
      "text-start",
      "text-delta",
      "text-end",
      "finish",
    ]);
  });

  it("streams a call's input in pieces and then the call, with ids of its own", async () => {
    const parts = await partsOf(asking("Weather in São Paulo and Rome?"));
    const call = parts.filter((part) => part.type === "tool-call");
    expect(call).toEqual([
      {
        type: "tool-call",
        toolCallId: "call_1",
        toolName: "get_weather",
        input: '{"location":"São Paulo"}',
      },
      {
        type: "tool-call",
        toolCallId: "call_2",
        toolName: "get_weather",
        input: '{"location":"Rome"}',
      },
    ]);
    const first = parts.filter((part) => "id" in part && part.id === "call_1");
    expect(first.map((part) => part.type)).toEqual([
      "tool-input-start",
      "tool-input-delta",
      "tool-input-delta",
      "tool-input-end",
    ]);
    const input = first.flatMap((part) => (part.type === "tool-input-delta" ? [part.delta] : []));
    expect(input.join("")).toBe('{"location":"São Paulo"}');
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: "tool-calls" } });
  });

  it("is the same for the same prompt", async () => {
    expect(await partsOf(asking("Weather in Rome?"))).toEqual(
      await partsOf(asking("Weather in Rome?")),
    );
  });

  it("gives no call id twice, also when the history has lost its first calls", async () => {
    const history = withResult(asking("Weather in NYC?"), { type: "text", value: "" }, "call_7");
    const again = { role: "user", content: [{ type: "text", text: "Weather in Rome?" }] } as const;
    const prompt: LanguageModelV4Prompt = [
      ...history.prompt,
      { ...again, content: [...again.content] },
    ];
    const { content } = await demoModel().doGenerate({ ...history, prompt });
    expect(content).toMatchObject([{ toolCallId: "call_8" }]);
  });

  it("counts four characters of prompt and output as a token, rounded up", async () => {
    const question = "Weather in Rome?";
    const { usage } = await demoModel().doGenerate(asking(question));
    const output = Math.ceil(("get_weather".length + '{"location":"Rome"}'.length) / 4);
    expect(usage.inputTokens.total).toBe(Math.ceil(question.length / 4));
    expect(usage.outputTokens.total).toBe(output);
    const longer = withResult(asking(question), { type: "text", value: "x".repeat(4_000) });
    expect((await demoModel().doGenerate(longer)).usage.inputTokens.total).toBeGreaterThan(1_000);
  });

  it("errors with the abort's reason in the middle of a word's delay", async () => {
    const controller = new AbortController();
    const reason = new Error("The user left");
    const { stream } = await demoModel({ wordDelayMs: 60_000 }).doStream({
      ...asking("who are you"),
      abortSignal: controller.signal,
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const part of stream) seen.push(part.type);
    })();
    setTimeout(() => controller.abort(reason), 5);
    await expect(reading).rejects.toBe(reason);
    expect(seen).toEqual(["stream-start", "response-metadata", "text-start"]);
  });

  it("stops at the next part without a delay as well, and at once if already aborted", async () => {
    const controller = new AbortController();
    const options = { ...asking("who are you"), abortSignal: controller.signal };
    const { stream } = await demoModel().doStream(options);
    const reader = stream.getReader();
    await reader.read();
    controller.abort("enough");
    await expect(reader.read()).rejects.toBe("enough");
    await expect(demoModel().doGenerate(options)).rejects.toBe("enough");
  });

  it("waits between words when told to", async () => {
    const started = performance.now();
    const { content } = await demoModel({ wordDelayMs: 5 }).doGenerate(
      asking("How is the weather?"),
    );
    const words = content[0]?.type === "text" ? content[0].text.split(" ").length : 0;
    expect(words).toBeGreaterThan(5);
    // Timers may fire a millisecond early.
    expect(performance.now() - started).toBeGreaterThan(words * 4);
  });

  it("names itself", () => {
    expect(demoModel()).toMatchObject({
      specificationVersion: "v4",
      provider: "byref",
      modelId: "demo",
    });
  });
});

type Output = Extract<
  Extract<LanguageModelV4Prompt[number], { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];

/** The prompt with the model's own next call answered by `output`. */
function withResult(
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
