/** Structured answers with the AI SDK's telemetry, recorded by OpenTelemetry. */
import { OpenTelemetry } from "@ai-sdk/otel";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { generateText, isStepCount, Output, tool, ToolLoopAgent } from "ai";
import {
  expandOutput,
  listingVariables,
  MemoryStore,
  withGuide,
  withToolVariables,
  wrapTools,
} from "byref/agent";
import { scriptedModel } from "byref/testing";
import { expect, it } from "vitest";
import * as z from "zod";

const orders = Array.from({ length: 300 }, (_, id) => ({ id, customer: `C-${id}`, total: id * 3 }));
const tools = {
  list_orders: tool({
    description: "Lists all orders.",
    inputSchema: z.object({}),
    execute: () => orders,
  }),
  sum: tool({
    description: "Adds numbers.",
    inputSchema: z.object({ numbers: z.array(z.number()) }),
    execute: ({ numbers }) => ({ total: numbers.reduce((sum, number) => sum + number, 0) }),
  }),
};
const script = [
  { tool: "list_orders", input: {} },
  { tool: "sum", input: { numbers: "$list_orders_1[*].total" } },
  '{"total":"$sum_1.total","last":"$list_orders_1[-1]","note":"From $list_orders_1[0].customer."}',
];
const output = Output.object({
  schema: z.object({
    total: z.number(),
    last: z.object({ id: z.number(), customer: z.string() }),
    note: z.string(),
  }),
});
const answer = { total: 134_550, last: { id: 299, customer: "C-299" }, note: "From C-0." };
const prompt = "How much?";

function recorder() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const integration = new OpenTelemetry({ tracer: provider.getTracer("shop") });
  const attributes = () =>
    exporter.getFinishedSpans().map((span) => JSON.stringify(span.attributes));
  return { telemetry: { integrations: [integration] }, attributes };
}

it.each(["ToolLoopAgent", "generateText"])("%s answers in structure, traced", async (how) => {
  const model = scriptedModel(script);
  const store = new MemoryStore();
  const { telemetry, attributes } = recorder();
  const agent = new ToolLoopAgent({ model, tools, output, telemetry });
  const result = await (how === "ToolLoopAgent"
    ? withToolVariables(agent, { store }).generate({ prompt })
    : generateText({
        model,
        tools: wrapTools(tools, { store }),
        output: expandOutput(output, store),
        instructions: withGuide("You look after a shop."),
        prepareStep: listingVariables({ store }),
        stopWhen: isStepCount(5),
        telemetry,
        prompt,
      }));
  expect(result.output).toEqual(answer);
  const spans = attributes().join("\n");
  expect(spans).toContain("$list_orders_1[*].total");
  // Spans have handles and small values, as the prompts have.
  expect(spans).not.toContain("C-299");
});
