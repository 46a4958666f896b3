import { expect, it } from "vitest";
import { tracesRequest } from "../../src/edge/telemetry/otlp.ts";
import { Trace, turnRecord } from "../../src/edge/telemetry/trace.ts";

const START_MS = Date.UTC(2026, 0, 1);
const START = "1767225600";
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const whole = (key: string, value: number) => ({ key, value: { intValue: String(value) } });

/** A turn with two attempts of a model, a tool that fails, and a delegation to another agent; 100 ms each. */
function recordedTurn() {
  let nowMs = START_MS;
  const trace = new Trace(() => nowMs);
  const later = (ms = 100) => {
    nowMs += ms;
  };
  const model = { model: "claude", provider: "anthropic.messages" };
  const { root } = trace;
  root.activity = { kind: "agent", name: "orders", ...model };
  const first = root.begin({ kind: "model", name: "claude", ...model });
  later();
  first.end({ error: "529", inputTokens: undefined });
  const second = root.begin({ kind: "model", name: "claude", ...model });
  later(50);
  second.firstOutput();
  later(50);
  second.firstOutput();
  second.end({ finishReason: "tool-calls", inputTokens: 60, outputTokens: 40 });
  const call = root.begin({ kind: "tool", name: "delegate", toolCallId: "call_1" });
  const asked = call.begin({ kind: "agent", name: "clerk", ...model });
  const inner = asked.begin({ kind: "tool", name: "find", toolCallId: "call_2" });
  later();
  inner.end({ error: "tool_failed" });
  asked.end();
  call.end();
  later();
  trace.end({ finishReason: "stop", inputTokens: 66, outputTokens: 44 });
  const subject = { tenant: "acme", conversation: "c-1", turn: "t-1", traceId: TRACE_ID };
  const record = turnRecord(subject, trace, {
    status: "done",
    finishReason: "stop",
    usage: { inputTokens: 66, outputTokens: 44, totalTokens: 110 },
    savings: { promptChars: 1, inlinePromptChars: 2, authoredChars: 3, resolvedChars: 4 },
    cost: { rowsRead: 5, rowsWritten: 6, alarms: 7 },
  });
  return { trace, record };
}

function encoded(parentSpanId?: string) {
  const { trace, record } = recordedTurn();
  let ids = 0;
  const newSpanId = () => String(++ids).padStart(16, "0");
  const request = tracesRequest(trace, record, {
    service: "byref",
    traceId: TRACE_ID,
    parentSpanId,
    newSpanId,
  });
  // In the form that is sent: undefined properties are removed.
  return JSON.parse(JSON.stringify(request)) as typeof request;
}

const spansOf = (request: ReturnType<typeof encoded>) =>
  request.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];

it("the spans of a turn have a client span for each try of a model, also for a failed one", () => {
  const [, failed, answered] = spansOf(encoded());
  const about = [
    text("gen_ai.operation.name", "chat"),
    text("gen_ai.provider.name", "anthropic"),
    text("gen_ai.request.model", "claude"),
    { key: "gen_ai.request.stream", value: { boolValue: true } },
  ];
  expect(failed).toEqual({
    traceId: TRACE_ID,
    spanId: "0000000000000002",
    parentSpanId: "0000000000000001",
    name: "chat claude",
    kind: 3,
    startTimeUnixNano: `${START}000000000`,
    endTimeUnixNano: `${START}100000000`,
    attributes: [...about, text("error.type", "529"), text("gen_ai.conversation.id", "c-1")],
    status: { code: 2 },
  });
  expect(answered).toMatchObject({
    spanId: "0000000000000003",
    startTimeUnixNano: `${START}100000000`,
    endTimeUnixNano: `${START}200000000`,
    status: {},
  });
  expect(answered?.attributes).toEqual([
    ...about,
    { key: "gen_ai.response.time_to_first_chunk", value: { doubleValue: 0.05 } },
    {
      key: "gen_ai.response.finish_reasons",
      value: { arrayValue: { values: [{ stringValue: "tool-calls" }] } },
    },
    whole("gen_ai.usage.input_tokens", 60),
    whole("gen_ai.usage.output_tokens", 40),
    text("gen_ai.conversation.id", "c-1"),
  ]);
});
