import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { delegating, saying } from "../../support/called-agents.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { text, toolCall } from "../../../packages/testing/src/testing.ts";
import { attributeOf, COLLECTOR, collecting, linesOf, pathsIn } from "../../support/telemetry.ts";
import { asked, done, exporting, KEY, runtimeOf, say } from "../../support/watched-runtime.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

let log: MockInstance<typeof console.log>;
let errors: MockInstance<typeof console.error>;

beforeEach(() => {
  log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => void vi.restoreAllMocks());

describe("the spans of a turn", () => {
  it("go to the collector in one request, with its headers", async () => {
    const { requests, spans } = collecting();
    const steps = [
      [toolCall("add", { a: 1, b: 2 }), toolCall("fail", {}), asked],
      [text("Three."), done],
    ];
    await withRuntime(runtimeOf(steps), (own) => say(own), { bindings: exporting });
    expect(requests).toHaveLength(1);
    const [request] = requests;
    expect(request?.url).toBe(`${COLLECTOR}/v1/traces`);
    expect(request?.init).toMatchObject({ method: "POST", redirect: "manual" });
    const headers = new Headers(request?.init.headers);
    expect(headers.get("authorization")).toBe(`Bearer ${KEY}`);
    expect(headers.get("content-type")).toBe("application/json");
    expect(pathsIn(spans())).toEqual([
      "invoke_agent clerk",
      "invoke_agent clerk > chat scripted",
      "invoke_agent clerk > execute_tool add",
      "invoke_agent clerk > execute_tool fail",
      "invoke_agent clerk > chat scripted",
    ]);
    const [turn, , add, fail] = spans();
    expect(spans().every(({ traceId }) => traceId === turn?.traceId)).toBe(true);
    expect(turn?.traceId).toMatch(/^[\da-f]{32}$/u);
    expect(new Set(spans().map(({ spanId }) => spanId)).size).toBe(5);
    for (const span of spans()) {
      expect(span.spanId).toMatch(/^[\da-f]{16}$/u);
      expect(span.startTimeUnixNano).toMatch(/^\d{19}$/u);
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
    }
    expect(turn).not.toHaveProperty("parentSpanId");
    expect(attributeOf(turn, "gen_ai.usage.input_tokens")).toBe("66");
    expect(attributeOf(turn, "gen_ai.conversation.id")).toBe("c");
    expect(attributeOf(add, "gen_ai.tool.call.id")).toBe("call_add");
    expect(add?.status).toEqual({});
    expect(fail?.status).toEqual({ code: 2 });
    expect(attributeOf(fail, "error.type")).toBe("tool_failed");
    expect(linesOf(log)).toMatchObject([{ traceId: turn?.traceId }]);
  });

  it("nest a delegated agent's work in the call that asks it", async () => {
    const { spans } = collecting();
    const steps = [
      delegating("researcher", "Add."),
      [toolCall("add", { a: 1, b: 2 }), asked],
      saying("Three."),
      saying("It is three."),
    ];
    const runtime = runtimeOf(steps, { delegates: ["researcher"] });
    await withRuntime(runtime, (own) => say(own), { bindings: exporting });
    const inside = "invoke_agent clerk > execute_tool delegate > invoke_agent researcher";
    expect(pathsIn(spans())).toEqual([
      "invoke_agent clerk",
      "invoke_agent clerk > chat scripted",
      "invoke_agent clerk > execute_tool delegate",
      inside,
      `${inside} > chat scripted`,
      `${inside} > execute_tool add`,
      `${inside} > chat scripted`,
      "invoke_agent clerk > chat scripted",
    ]);
    expect(linesOf(log)).toMatchObject([{ modelCalls: 4, toolCalls: 2, toolFailures: 0 }]);
  });

  it("belong to the request's trace if it is valid, and are not sent if it is not sampled", async () => {
    const { requests, spans } = collecting();
    const steps = [saying("1"), saying("2"), saying("3")];
    await withRuntime(
      runtimeOf(steps),
      async (own) => {
        await say(own, "1", { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` });
        await say(own, "2", { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01-more` });
        await say(own, "3", { traceparent: `00-${TRACE_ID}-${SPAN_ID}-00` });
      },
      { bindings: exporting },
    );
    expect(requests).toHaveLength(2);
    const [turn, model] = spans(0);
    expect(turn).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID });
    expect(model).toMatchObject({ traceId: TRACE_ID, parentSpanId: turn?.spanId });
    expect(spans(1)[0]?.traceId).not.toBe(TRACE_ID);
    expect(spans(1)[0]).not.toHaveProperty("parentSpanId");
    expect(linesOf(log)).toHaveLength(3);
  });
});

describe("a collector", () => {
  const answers: readonly (readonly [string, () => Promise<Response>, string])[] = [
    ["cannot be reached", () => Promise.reject(new TypeError(`No ${COLLECTOR}.`)), "unreachable"],
    ["answers 500", async () => new Response(KEY, { status: 500 }), "status 500"],
    [
      "redirects",
      async () =>
        new Response(null, { status: 307, headers: { location: "http://other.example" } }),
      "status 307",
    ],
    [
      "does not answer in time",
      () => Promise.reject(new DOMException("The operation timed out.", "TimeoutError")),
      "timeout",
    ],
  ];

  it.each(answers)("that %s disturbs no turn, and is reported once", async (_, answer, reason) => {
    const { requests } = collecting(answer);
    const steps = [saying("One."), saying("Two.")];
    const said = await withRuntime(
      runtimeOf(steps),
      async (own) => {
        const first = await say(own, "1");
        await vi.waitFor(() => expect(errors).toHaveBeenCalledOnce());
        return [first, await say(own, "2")];
      },
      { bindings: exporting },
    );
    expect(said[0]).toContain("One.");
    expect(said[1]).toContain("Two.");
    expect(requests).toHaveLength(2);
    expect(linesOf(errors)).toEqual([
      { event: "export_failed", at: expect.stringMatching(/Z$/u), reason },
    ]);
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
