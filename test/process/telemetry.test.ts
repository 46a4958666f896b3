import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  type ChatCompletions,
  type ChatStep,
  startChatCompletions,
} from "../support/chat-completions.ts";
import { type Collector, startCollector } from "../support/collector.ts";
import { type Server, startServer } from "../support/server.ts";
import { attributeOf, type Line, pathsIn } from "../support/telemetry.ts";
import { chunksIn, post, textIn } from "../support/turn-client.ts";

const KEY = "sk-model-canary";
const COLLECTOR_KEY = "collector canary, 1=2";
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

let collector: Collector;
let endpoint: ChatCompletions;
let server: Server;

beforeAll(async () => {
  collector = await startCollector();
  endpoint = await startChatCompletions();
  server = await startServer({
    MODEL: "openai-compatible:test-model",
    MODEL_BASE_URL: endpoint.url,
    MODEL_API_KEY: KEY,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${encodeURIComponent(COLLECTOR_KEY)}`,
    OTEL_SERVICE_NAME: "weather-bot",
  });
});

afterAll(async () => {
  await server?.stop();
  await endpoint?.down();
  await collector?.down();
});

const linesIn = (output: string) =>
  output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line);

const linesAbout = (conversation: string) =>
  linesIn(server.output()).filter((line) => line.conversation === conversation);

const answer: ChatStep = { kind: "text", text: "Fine." };
const weatherOf = (location: string) => ({ name: "get_weather", input: { location } });

describe("a server with a collector", () => {
  it("sends it a turn with its tools and model attempts, and logs it in one line", async () => {
    const overloaded: ChatStep = { kind: "status", status: 503, body: "canary-of-the-endpoint" };
    const calls = [weatherOf("NYC"), weatherOf("Nowhere-canary")];
    endpoint.play([overloaded, { kind: "calls", calls }, answer]);
    const response = await post(`${server.url}/conversations/traced`, "A question-canary?", {
      agent: "weather",
      headers: { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` },
    });
    expect(textIn(chunksIn(await response.text()))).toBe("Fine.");
    await vi.waitFor(() => expect(collector.exports).toHaveLength(1));
    const [sent] = collector.exports;
    expect(sent).toMatchObject({ method: "POST", path: "/v1/traces" });
    expect(sent?.headers).toMatchObject({
      "content-type": "application/json",
      "x-key": COLLECTOR_KEY,
    });
    expect(sent?.body).toContain('{"key":"service.name","value":{"stringValue":"weather-bot"}}');
    const spans = sent?.spans ?? [];
    expect(pathsIn(spans)).toEqual([
      "invoke_agent weather",
      "invoke_agent weather > chat test-model",
      "invoke_agent weather > chat test-model",
      "invoke_agent weather > execute_tool get_weather",
      "invoke_agent weather > execute_tool get_weather",
      "invoke_agent weather > chat test-model",
    ]);
    const [turn, failed, , tool, , last] = spans;
    expect(turn).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID });
    expect(attributeOf(turn, "byref.tenant")).toBe("local");
    expect(attributeOf(turn, "gen_ai.conversation.id")).toBe("traced");
    expect(attributeOf(turn, "gen_ai.provider.name")).toBe("openai-compatible");
    expect(attributeOf(failed, "error.type")).toBe("503");
    expect(attributeOf(tool, "gen_ai.tool.call.id")).toBe("call_2_0");
    expect(attributeOf(last, "gen_ai.usage.input_tokens")).toBe("11");
    for (const { startTimeUnixNano: start, endTimeUnixNano: end } of spans) {
      expect(BigInt(start)).toBeGreaterThanOrEqual(BigInt(turn?.startTimeUnixNano ?? 0));
      expect(BigInt(end)).toBeLessThanOrEqual(BigInt(turn?.endTimeUnixNano ?? 0));
    }
    await vi.waitFor(() => expect(linesAbout("traced")).toHaveLength(1));
    expect(linesAbout("traced")).toMatchObject([
      {
        event: "turn",
        tenant: "local",
        agent: "weather",
        model: "test-model",
        status: "done",
        traceId: TRACE_ID,
        modelCalls: 3,
        toolCalls: 2,
      },
    ]);
  });

  it("tolerates one that fails, hangs or disappears, and logs that once", async () => {
    let turns = 0;
    const ask = async () => {
      endpoint.play([answer]);
      const about = { agent: "weather" };
      const question = `Question ${++turns}.`;
      const response = await post(`${server.url}/conversations/away`, question, about);
      expect(textIn(chunksIn(await response.text()))).toBe("Fine.");
    };
    collector.answer = (response) => response.writeHead(500).end("canary-of-the-collector");
    await ask();
    const failures = () =>
      linesIn(server.output()).filter(({ event }) => event === "export_failed");
    await vi.waitFor(() => expect(failures()).toHaveLength(1));
    collector.answer = () => undefined;
    await ask();
    await collector.down();
    await ask();
    await vi.waitFor(() => expect(linesAbout("away")).toHaveLength(3));
    expect(linesAbout("away").map(({ status }) => status)).toEqual(["done", "done", "done"]);
    expect(failures()).toEqual([{ event: "export_failed", reason: "status 500" }]);
  });

  it("never reveals what was said, nor any key", () => {
    const told = [server.output(), ...collector.exports.map(({ body }) => body)].join("\n");
    expect(told).toContain("get_weather");
    expect(told).not.toContain("canary");
  });
});
