import { describe, expect, it } from "vitest";
import { demoModel } from "../../examples/demo-model/demo-model.ts";
import { readJsonPlan } from "../../packages/plans/src/plan/json-plan.ts";
import { asking, everyTool, Session, withResult } from "../support/demo-session.ts";

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

  it("fetches several cities in one step and compares the first with each of the others", async () => {
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

  it("tries an unknown city and reports the error", async () => {
    const { steps, answer } = await new Session().ask("What's the weather in Atlantis, please?");
    expect(steps).toEqual([[{ toolName: "get_weather", input: { location: "Atlantis" } }]]);
    expect(answer).toContain('I could not use get_weather for Atlantis: Unknown city "Atlantis".');
  });

  it("keeps a place of several words, and drops time expressions after it", async () => {
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

  it("shows the whole variable when the result lacks the expected fields", async () => {
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

  it("writes a report from two parallel results, and answers with a single reference", async () => {
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

  it("proposes a plan whose calls pass results by reference, and runs none of them", async () => {
    const tools = [{ type: "function", name: "propose_plan", inputSchema: {} } as const];
    const question = { ...asking("Make a plan for a report on my orders"), tools };
    const { content } = await demoModel().doGenerate(question);
    const [call] = content;
    const input = call?.type === "tool-call" ? (JSON.parse(call.input) as object) : {};
    expect(call).toMatchObject({ toolName: "propose_plan" });
    expect(readJsonPlan(input).findings).toEqual([]);
    expect(input).toMatchObject({
      calls: [
        { _tool: "list_orders", _outputPath: "†orders" },
        { _tool: "monthly_totals", orders: "†orders" },
        { _tool: "summarize_orders", orders: "†orders" },
        { _tool: "write_report", totals: "†totals", summary: "†summary" },
      ],
    });
    const [toolCallId, toolName] = ["call_1", "propose_plan"];
    const output = { type: "json", value: { plan: "p1", status: "proposed" } } as const;
    const then = await demoModel().doGenerate({
      ...question,
      prompt: [
        ...question.prompt,
        { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName, input }] },
        { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
      ],
    });
    expect(then.content).toMatchObject([{ text: expect.stringContaining("until you approve it") }]);
  });

  it("passes a currency and shows no first order when the list is empty", async () => {
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
  ])("reports an error instead of calling again: %j", async (output, said) => {
    const { content } = await demoModel().doGenerate(withResult(asking("monthly totals"), output));
    expect(content).toEqual([{ type: "text", text: `I could not use list_orders: ${said}` }]);
  });
});
