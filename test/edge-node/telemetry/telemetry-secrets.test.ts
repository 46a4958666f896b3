import { tool } from "ai";
import { afterEach, expect, it, vi } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import { delegating, saying } from "../../support/called-agents.ts";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { scriptedModel, type Step, toolCall } from "../../../packages/testing/src/testing.ts";
import { collecting, linesOf } from "../../support/telemetry.ts";
import { agentNamed, asked, exporting, say } from "../../support/watched-runtime.ts";

afterEach(() => void vi.restoreAllMocks());

it("telemetry contains no values and no secrets", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { requests } = collecting();
  const points: unknown[] = [];
  const ANALYTICS = { writeDataPoint: (point: unknown) => points.push(point) };
  const canaries: string[] = [];
  const canary = () => {
    const text = `canary${canaries.length}${crypto.randomUUID()}`;
    canaries.push(text);
    return text;
  };
  const [question, answer, value, secret] = [canary(), canary(), canary(), canary()];
  const [input, output, failure] = [canary(), canary(), canary()];
  const [prompt, refused, key] = [canary(), canary(), canary()];
  const revealing = {
    look: tool({
      description: prompt,
      inputSchema: z.object({ input: z.string() }),
      execute: () => ({ output, rows: Array.from({ length: 500 }, () => output) }),
    }),
    fail: tool({
      inputSchema: z.object({ input: z.string() }),
      execute: (): string => {
        throw Object.assign(new Error(failure), { code: failure, statusCode: failure });
      },
    }),
  };
  const overloaded: Step = () => {
    const responseHeaders = { "retry-after-ms": "1", "x-said": refused };
    throw Object.assign(new Error(refused), { statusCode: 503, responseHeaders, type: refused });
  };
  const down: Step = () => {
    throw Object.assign(new Error(refused), { statusCode: 400, code: refused });
  };
  const steps: readonly Step[] = [
    overloaded,
    [
      toolCall("look", { input }),
      toolCall("fail", { input: "$input.value" }),
      toolCall("look", { input: 1, more: input }, { id: "call_invalid" }),
      asked,
    ],
    delegating("researcher", `Find ${question}.`),
    [toolCall("look", { input: "$api_key" }), asked],
    saying(`${answer} $look_1.output`),
    saying(`${answer} $look_1.output`),
    down,
  ];
  const about = { instructions: prompt, tools: revealing, delegates: ["researcher"] };
  const runtime: RuntimeOptions = {
    agents: [agentNamed("clerk", about), agentNamed("researcher", { tools: revealing })],
    model: scriptedModel(steps),
  };
  const bindings = {
    ...exporting,
    ANALYTICS,
    MODEL_API_KEY: key,
    INSTRUCTIONS: prompt,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${key}`,
  };
  await withRuntime(
    runtime,
    async (own) => {
      const put = "/conversations/c/variables/api_key?visibility=secret";
      await own.call("PUT", put, json(secret));
      const body = json({ message: question, input: { value } });
      const first = await own.call("POST", "/conversations/c/messages", body);
      // The user receives the answer, so telemetry could have leaked it.
      expect(await first.text()).toContain(answer);
      await say(own, question);
      await vi.waitFor(() => expect(requests).toHaveLength(2));
    },
    { bindings },
  );
  expect(linesOf(log).map(({ status }) => status)).toEqual(["done", "failed"]);
  expect(points).toHaveLength(2);
  const told = [
    ...requests.map(({ body }) => body),
    JSON.stringify(points),
    JSON.stringify(log.mock.calls),
    JSON.stringify(errors.mock.calls.map(String)),
  ].join("\n");
  for (const canary of canaries) expect(told).not.toContain(canary);
  expect(told).toContain("tool_failed");
  expect(told).toContain("503");
});
