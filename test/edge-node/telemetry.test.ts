import { tool } from "ai";
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { readSettings } from "../../src/edge/settings.ts";
import { tracesRequest } from "../../src/edge/telemetry/otlp.ts";
import { readTraceParent } from "../../src/edge/telemetry/telemetry.ts";
import { Trace, turnRecord } from "../../src/edge/telemetry/trace.ts";
import { textIn } from "../../src/store/rows/sql.ts";
import type { Agent } from "../../src/turn/agent.ts";
import type { TurnHead } from "../../src/turn/log/journal.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import { delegating, saying } from "../support/called-agents.ts";
import { json } from "../support/edge.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { type OwnRuntime, withRuntime } from "../support/own-runtime.ts";
import { attributeOf, COLLECTOR, collecting, linesOf, pathsIn } from "../support/telemetry.ts";
import { toolOf } from "../support/tool-of.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
/** A secret that only the collector may receive. */
const KEY = "sk-collector-canary";

const asked = finish("tool-calls", { input: 60, output: 40 });
const done = finish("stop", { input: 6, output: 4 });
const add = toolOf({ a: z.number(), b: z.number() }, ({ a, b }) => a + b);
const fail = toolOf({}, (): string => {
  throw new Error("boom");
});

const agentNamed = (name: string, more: Partial<Agent> = {}): Agent => ({
  name,
  description: `Is ${name}.`,
  instructions: "Help.",
  tools: { add, fail },
  ...more,
});

const runtimeOf = (steps: readonly Step[], more: Partial<Agent> = {}): RuntimeOptions => ({
  agents: [agentNamed("clerk", more), agentNamed("researcher")],
  model: scriptedModel(steps),
});

const exporting: Readonly<Record<string, unknown>> = {
  LOG: "turns",
  OTEL_EXPORTER_OTLP_ENDPOINT: `${COLLECTOR}/`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${KEY}`,
};

async function say(own: OwnRuntime, message = "Hello.", headers: Record<string, string> = {}) {
  const init = json({ message }, headers);
  return (await own.call("POST", "/conversations/c/messages", init)).text();
}

let log: MockInstance<typeof console.log>;
let errors: MockInstance<typeof console.error>;

beforeEach(() => {
  log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
});
it.each([
  [`00-${TRACE_ID}-${SPAN_ID}-01`, true],
  [`00-${TRACE_ID}-${SPAN_ID}-03`, true],
  [`00-${TRACE_ID}-${SPAN_ID}-00`, false],
  // A later version may have more fields.
  [`01-${TRACE_ID}-${SPAN_ID}-01`, true],
  [`cc-${TRACE_ID}-${SPAN_ID}-01-what-comes`, true],
  ["", undefined],
  [TRACE_ID, undefined],
  [`00-${TRACE_ID}-${SPAN_ID}`, undefined],
  [`00-${TRACE_ID}-${SPAN_ID}-011`, undefined],
  [`00-${TRACE_ID}-${SPAN_ID}-01-more`, undefined],
  [`00-${TRACE_ID}-${SPAN_ID}-01 `, undefined],
  [`01-${TRACE_ID}-${SPAN_ID}-01.more`, undefined],
  [`ff-${TRACE_ID}-${SPAN_ID}-01`, undefined],
  [`00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`, undefined],
  [`00-${"0".repeat(32)}-${SPAN_ID}-01`, undefined],
  [`00-${TRACE_ID}-${"0".repeat(16)}-01`, undefined],
  [`00-${TRACE_ID.slice(1)}-${SPAN_ID}-01`, undefined],
])("the traceparent %s is sampled: %s; an invalid one is ignored", (header, isSampled) => {
  const parent = { traceId: TRACE_ID, spanId: SPAN_ID, isSampled };
  expect(readTraceParent(header)).toEqual(isSampled === undefined ? undefined : parent);
});

it.each([
  [{}, { LOG: "turns", OTEL_SERVICE_NAME: "byref", OTEL_EXPORTER_OTLP_HEADERS: {} }],
  [
    { OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Basic%20a%3D%3D, x = one%2Ctwo ,,y=" },
    { OTEL_EXPORTER_OTLP_HEADERS: { Authorization: "Basic a==", x: "one,two", y: "" } },
  ],
  [
    { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic a==" },
    { OTEL_EXPORTER_OTLP_HEADERS: { authorization: "Basic a==" } },
  ],
])("the settings of telemetry %o are read", (given, settings) => {
  expect(readSettings(given)).toMatchObject(settings);
  expect(readSettings(given).OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
});

it("the log line of a turn names the tenant, the outcome and the cost", async () => {
  const name = JSON.stringify(["acme", crypto.randomUUID()]);
  const calls = [toolCall("add", { a: 1, b: 2 }), toolCall("fail", {})];
  const invalid = toolCall("add", { a: "no" }, { id: "call_invalid" });
  const steps = [
    [...calls, invalid, asked],
    [text("Three."), done],
  ];
  await withRuntime(runtimeOf(steps), (own) => say(own), { bindings: { LOG: "turns" }, name });
  expect(linesOf(log)).toEqual([
    {
      event: "turn",
      tenant: "acme",
      conversation: "c",
      turn: expect.stringMatching(/^[\da-f-]{36}$/u),
      agent: "clerk",
      model: "scripted",
      provider: "scripted",
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u),
      durationMs: expect.any(Number),
      firstPartMs: expect.any(Number),
      modelCalls: 2,
      modelMs: expect.any(Number),
      toolCalls: 3,
      toolFailures: 2,
      toolMs: expect.any(Number),
      status: "done",
      finishReason: "stop",
      usage: { inputTokens: 66, outputTokens: 44, totalTokens: 110 },
      savings: expect.objectContaining({ promptChars: expect.any(Number) }),
      cost: expect.objectContaining({ rowsWritten: expect.any(Number) }),
    },
  ]);
  expect(linesOf(log)[0]?.cost).not.toMatchObject({ rowsWritten: 0 });
});

it("the log line of a turn that a person stopped says so", async () => {
  let stop = () => {};
  const wait = toolOf({}, (): Promise<string> => {
    stop();
    return new Promise(() => {});
  });
  const runtime = runtimeOf([[toolCall("wait", {}), asked]], { tools: { wait } });
  const work = (own: OwnRuntime) => {
    stop = () => void own.call("POST", "/conversations/c/stop");
    return say(own);
  };
  await withRuntime(runtime, work, { bindings: { LOG: "turns" } });
  expect(linesOf(log)).toMatchObject([{ status: "stopped", toolCalls: 1 }]);
});

it("Analytics Engine receives one point for each turn if it is bound", async () => {
  const points: AnalyticsEngineDataPoint[] = [];
  const ANALYTICS = { writeDataPoint: (point: AnalyticsEngineDataPoint) => points.push(point) };
  const name = JSON.stringify(["acme", crypto.randomUUID()]);
  const steps = [[toolCall("add", { a: 1, b: 2 }), asked], saying("Three.")];
  await withRuntime(runtimeOf(steps), (own) => say(own), { bindings: { ANALYTICS }, name });
  const blobs = ["c", "clerk", "scripted", "done", "", "acme", ""];
  expect(points).toMatchObject([{ indexes: ["acme"], blobs }]);
  expect(points[0]?.doubles).toHaveLength(17);
  expect(points[0]?.doubles?.slice(7, 9)).toEqual([66, 44]);
  expect(log).not.toHaveBeenCalled();
});

it("a span has the time and the attributes of a call of a model, also of one that failed", () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const trace = new Trace(() => nowMs);
  const model = { model: "claude", provider: "anthropic.messages" };
  trace.root.activity = { kind: "agent", name: "orders", ...model };
  const first = trace.root.begin({ kind: "model", name: "claude", ...model });
  nowMs += 100;
  first.end({ error: "529", inputTokens: undefined });
  const second = trace.root.begin({ kind: "model", name: "claude", ...model });
  nowMs += 50;
  second.firstOutput();
  nowMs += 50;
  second.firstOutput();
  second.end({ finishReason: "tool-calls", inputTokens: 60, outputTokens: 40 });
  trace.root.begin({ kind: "tool", name: "wait" });
  trace.end({ finishReason: "stop", inputTokens: 60, outputTokens: 40 });
  const subject = { tenant: "acme", conversation: "c-1", turn: "t-1", traceId: TRACE_ID };
  const cost = { rowsRead: 5, rowsWritten: 6, alarms: 7 };
  const record = turnRecord(subject, trace, { status: "done", cost });
  let ids = 0;
  const newSpanId = () => String(++ids).padStart(16, "0");
  const sending = { service: "byref", traceId: TRACE_ID, parentSpanId: undefined, newSpanId };
  const request = tracesRequest(trace, record, sending);
  // In the form that is sent: undefined properties are removed.
  const sent = JSON.parse(JSON.stringify(request)) as typeof request;
  const [, failed, answered, open] = sent.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
  /** The attributes without their types. */
  const told = (span: typeof open) =>
    Object.fromEntries(
      (span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]),
    );
  const about = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude",
    "gen_ai.request.stream": true,
    "gen_ai.conversation.id": "c-1",
  };
  const span = {
    traceId: TRACE_ID,
    parentSpanId: "0000000000000001",
    name: "chat claude",
    kind: 3,
  };
  expect(failed).toMatchObject({
    ...span,
    spanId: "0000000000000002",
    startTimeUnixNano: "1767225600000000000",
    endTimeUnixNano: "1767225600100000000",
    status: { code: 2 },
  });
  expect(told(failed)).toEqual({ ...about, "error.type": "529" });
  expect(told(open)).toMatchObject({ "error.type": "turn_stopped" });
  expect(answered).toMatchObject({ ...span, endTimeUnixNano: "1767225600200000000", status: {} });
  expect(told(answered)).toEqual({
    ...about,
    "gen_ai.response.time_to_first_chunk": 0.05,
    "gen_ai.response.finish_reasons": { values: [{ stringValue: "tool-calls" }] },
    "gen_ai.usage.input_tokens": "60",
    "gen_ai.usage.output_tokens": "40",
  });
});

describe("the spans of a turn", () => {
  it("go to the collector in one request with its headers, nested as the calls are", async () => {
    const { requests, spans } = collecting();
    const steps = [
      delegating("researcher", "Add."),
      [toolCall("add", { a: 1, b: 2 }), toolCall("fail", {}), asked],
      saying("Three."),
      [text("It is three."), done],
    ];
    const runtime = runtimeOf(steps, { delegates: ["researcher"] });
    await withRuntime(runtime, (own) => say(own), { bindings: exporting });
    expect(requests).toHaveLength(1);
    expect(requests[0]?.init).toMatchObject({ method: "POST", redirect: "manual" });
    const headers = new Headers(requests[0]?.init.headers);
    expect(headers.get("authorization")).toBe(`Bearer ${KEY}`);
    expect(headers.get("content-type")).toBe("application/json");
    const inside = "invoke_agent clerk > execute_tool delegate > invoke_agent researcher";
    expect(pathsIn(spans())).toEqual([
      "invoke_agent clerk",
      "invoke_agent clerk > chat scripted",
      "invoke_agent clerk > execute_tool delegate",
      inside,
      `${inside} > chat scripted`,
      `${inside} > execute_tool add`,
      `${inside} > execute_tool fail`,
      `${inside} > chat scripted`,
      "invoke_agent clerk > chat scripted",
    ]);
    const [turn] = spans();
    expect(turn?.traceId).toMatch(/^[\da-f]{32}$/u);
    expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(spans().map(({ spanId }) => spanId)).size).toBe(9);
    expect(turn).not.toHaveProperty("parentSpanId");
    expect(attributeOf(turn, "gen_ai.conversation.id")).toBe("c");
    const failed = spans().find(({ name }) => name === "execute_tool fail");
    expect(failed?.status).toEqual({ code: 2 });
    expect(attributeOf(failed, "error.type")).toBe("tool_failed");
    const counts = { modelCalls: 4, toolCalls: 3, toolFailures: 1 };
    expect(linesOf(log)).toMatchObject([{ traceId: turn?.traceId, ...counts }]);
  });

  it("belong to the request's trace if it is valid, and are not sent if it is not sampled", async () => {
    const { requests, spans } = collecting();
    const headers = ["01", "01-more", "00"].map((end) => `00-${TRACE_ID}-${SPAN_ID}-${end}`);
    const talk = async (own: OwnRuntime) => {
      for (const traceparent of headers) await say(own, "Hi", { traceparent });
    };
    const steps = headers.map(() => saying("Hi."));
    await withRuntime(runtimeOf(steps), talk, { bindings: exporting });
    expect(requests).toHaveLength(2);
    const [turn, model] = spans(0);
    expect(turn).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID });
    expect(model).toMatchObject({ traceId: TRACE_ID, parentSpanId: turn?.spanId });
    expect(spans(1)[0]?.traceId).not.toBe(TRACE_ID);
    expect(spans(1)[0]).not.toHaveProperty("parentSpanId");
    expect(linesOf(log)).toHaveLength(3);
  });

  it.each(["", `00-${TRACE_ID}-${SPAN_ID}-01`])(
    "stay in one trace when a crash cuts the turn off, with the traceparent %j",
    async (traceparent) => {
      const { requests, spans } = collecting();
      let looks = 0;
      const look = toolOf({}, () => (looks++ === 0 ? new Promise<string>(() => {}) : "seen"));
      const agents = [agentNamed("a", { tools: { look }, effects: { look: "none" } })] as const;
      const options = (steps: Step[]): RuntimeOptions => ({ agents, model: scriptedModel(steps) });
      const runtime = new NodeRuntime(options([[toolCall("look", {}), asked]]), exporting);
      const headers = traceparent === "" ? {} : { traceparent };
      const init = json({ message: "Look" }, headers);
      void runtime.ask("POST", "/conversations/c/messages", init);
      await vi.waitUntil(() => looks > 0 && runtime.objectOf("c").isRinging);
      const [row = {}] = runtime.objectOf("c").sql.all(`SELECT head FROM turn WHERE part = 0`);
      const { trace = "" } = JSON.parse(textIn(row, "head")) as TurnHead;
      runtime.kill();
      runtime.start(options([saying("Seen.")]));
      await vi.waitUntil(() => requests.length > 0);
      const [turn] = spans();
      expect(trace).toMatch(traceparent === "" ? /^[0-9a-f]{32}$/ : /^00-/);
      expect(turn?.traceId).toBe(traceparent === "" ? trace : TRACE_ID);
      expect(turn?.parentSpanId).toBe(traceparent === "" ? undefined : SPAN_ID);
      expect(JSON.stringify(turn)).toContain("byref.recovered");
    },
  );
});

describe("a collector", () => {
  const answers: readonly (readonly [string, () => Promise<Response>, string])[] = [
    ["cannot be reached", () => Promise.reject(new TypeError(`No ${COLLECTOR}.`)), "unreachable"],
    ["answers 500", async () => new Response(KEY, { status: 500 }), "status 500"],
    ["redirects", async () => Response.redirect("http://other.example", 307), "status 307"],
    [
      "does not answer in time",
      () => Promise.reject(new DOMException("The operation timed out.", "TimeoutError")),
      "timeout",
    ],
  ];

  it.each(answers)("that %s disturbs no turn, and is reported once", async (_, answer, reason) => {
    const { requests } = collecting(answer);
    const talk = async (own: OwnRuntime) => {
      const first = await say(own, "1");
      await vi.waitFor(() => expect(errors).toHaveBeenCalledOnce());
      return first + (await say(own, "2"));
    };
    const steps = [saying("One."), saying("Two.")];
    const said = await withRuntime(runtimeOf(steps), talk, { bindings: exporting });
    expect(said).toMatch(/One\.[^]*Two\./u);
    expect(requests).toHaveLength(2);
    const failed = { event: "export_failed", at: expect.stringMatching(/Z$/u), reason };
    expect(linesOf(errors)).toEqual([failed]);
    expect(JSON.stringify(errors.mock.calls)).not.toContain(KEY);
    expect(linesOf(log)).toMatchObject([{ status: "done" }, { status: "done" }]);
  });

  it.each([
    ["http://collector.example", "http://collector.example/v1/traces"],
    ["http://collector.example/", "http://collector.example/v1/traces"],
    ["http://collector.example/otlp/", "http://collector.example/otlp/v1/traces"],
    ["http://collector.example/otlp?team=a/b", "http://collector.example/otlp/v1/traces?team=a/b"],
  ])("at %s receives spans at %s", async (endpoint, url) => {
    const { requests } = collecting();
    const bindings = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
    await withRuntime(runtimeOf([saying("Hi.")]), (own) => say(own), { bindings });
    expect(requests.map((request) => request.url)).toEqual([url]);
  });
});

it("telemetry contains no values and no secrets", async () => {
  const { requests } = collecting();
  const points: unknown[] = [];
  const ANALYTICS = { writeDataPoint: (point: unknown) => points.push(point) };
  const canaries = Array.from({ length: 10 }, (_, at) => `canary${at}${crypto.randomUUID()}`);
  const [question = "", answer = "", value, secret, input, output, failure, ...more] = canaries;
  const [prompt = "", refused, key] = more;
  const inputSchema = z.object({ input: z.string() });
  const tools = {
    look: tool({
      description: prompt,
      inputSchema,
      execute: () => ({ output, rows: Array.from({ length: 500 }, () => output) }),
    }),
    fail: tool({
      inputSchema,
      execute: (): string => {
        throw Object.assign(new Error(failure), { code: failure, statusCode: failure });
      },
    }),
  };
  const failing =
    (about: object): Step =>
    () => {
      throw Object.assign(new Error(`${refused} ${key}`), about);
    };
  const responseHeaders = { "retry-after-ms": "1", "x-said": refused };
  const steps: readonly Step[] = [
    failing({ statusCode: 503, responseHeaders, type: refused }),
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
    failing({ statusCode: 400, code: refused }),
    failing({ statusCode: 400 }),
  ];
  const about = { instructions: prompt, tools, delegates: ["researcher"] };
  const runtime: RuntimeOptions = {
    agents: [agentNamed("clerk", about), agentNamed("researcher", { tools })],
    model: scriptedModel(steps),
  };
  const bindings = {
    ...exporting,
    ANALYTICS,
    MODEL_API_KEY: key,
    INSTRUCTIONS: prompt,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${key}`,
  };
  const talk = async (own: OwnRuntime) => {
    await own.call("PUT", "/conversations/c/variables/api_key?visibility=secret", json(secret));
    const body = json({ message: question, input: { value } });
    const first = await own.call("POST", "/conversations/c/messages", body);
    // The user receives the answer, so telemetry could have leaked it.
    expect(await first.text()).toContain(answer);
    expect(await say(own, question)).toContain(`${refused} [secret]`);
    await vi.waitFor(() => expect(requests).toHaveLength(2));
  };
  await withRuntime(runtime, talk, { bindings });
  expect(linesOf(log)).toMatchObject([
    { status: "done" },
    { status: "failed", code: "model_failed", finishReason: "error", modelCalls: 2 },
  ]);
  expect(points).toHaveLength(2);
  const bodies = requests.map(({ body }) => body);
  const told = JSON.stringify([bodies, points, log.mock.calls, errors.mock.calls.map(String)]);
  for (const canary of canaries) expect(told).not.toContain(canary);
  expect(told).toContain("tool_failed");
  expect(told).toContain("503");
});
