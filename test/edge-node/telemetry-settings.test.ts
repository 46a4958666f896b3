import { describe, expect, it } from "vitest";
import { codeOf, messageOf } from "../../src/errors.ts";
import { readSettings } from "../../src/edge/settings.ts";
import { readTraceParent } from "../../src/edge/telemetry/trace.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

describe("a traceparent", () => {
  it("names the caller's trace and span, and says whether they are sampled", () => {
    const parent = { traceId: TRACE_ID, spanId: SPAN_ID };
    expect(readTraceParent(`00-${TRACE_ID}-${SPAN_ID}-01`)).toEqual({ ...parent, isSampled: true });
    expect(readTraceParent(`00-${TRACE_ID}-${SPAN_ID}-00`)).toEqual({
      ...parent,
      isSampled: false,
    });
    expect(readTraceParent(`00-${TRACE_ID}-${SPAN_ID}-03`)).toMatchObject({ isSampled: true });
  });

  it("of a later version may have more fields", () => {
    const parent = { traceId: TRACE_ID, spanId: SPAN_ID, isSampled: true };
    expect(readTraceParent(`01-${TRACE_ID}-${SPAN_ID}-01`)).toEqual(parent);
    expect(readTraceParent(`cc-${TRACE_ID}-${SPAN_ID}-01-what-comes`)).toEqual(parent);
  });

  it.each([
    null,
    "",
    TRACE_ID,
    `00-${TRACE_ID}-${SPAN_ID}`,
    `00-${TRACE_ID}-${SPAN_ID}-011`,
    `00-${TRACE_ID}-${SPAN_ID}-01-more`,
    `00-${TRACE_ID}-${SPAN_ID}-01 `,
    `01-${TRACE_ID}-${SPAN_ID}-01.more`,
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
    `00-${"0".repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${"0".repeat(16)}-01`,
    `00-${TRACE_ID.slice(1)}-${SPAN_ID}-01`,
  ])("that is invalid is ignored: %s", (header) => {
    expect(readTraceParent(header)).toBeUndefined();
  });
});

describe("the settings of telemetry", () => {
  it("log a line for each turn, and name no collector, by default", () => {
    const settings = readSettings({});
    expect(settings).toMatchObject({ LOG: "turns", OTEL_SERVICE_NAME: "byref" });
    expect(settings.OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
    expect(settings.OTEL_EXPORTER_OTLP_HEADERS).toEqual({});
  });

  it("have headers in OpenTelemetry's format", () => {
    const given = "Authorization=Basic%20a%3D%3D, x-team = one%2Ctwo ,,x-empty=";
    expect(readSettings({ OTEL_EXPORTER_OTLP_HEADERS: given }).OTEL_EXPORTER_OTLP_HEADERS).toEqual({
      Authorization: "Basic a==",
      "x-team": "one,two",
      "x-empty": "",
    });
    const unencoded = { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic a==" };
    expect(readSettings(unencoded).OTEL_EXPORTER_OTLP_HEADERS).toEqual({
      authorization: "Basic a==",
    });
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_HEADERS: "canary-1234" }],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a b=canary-1234" }],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=canary-1234%zz" }],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=canary-1234%0d%0ab:%20c" }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector/canary-1234" }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:canary-1234@collector" }],
    [{ LOG: "canary-1234" }],
  ])("are refused without being quoted: %o", (given) => {
    let thrown: unknown;
    try {
      readSettings(given);
    } catch (error) {
      thrown = error;
    }
    expect(codeOf(thrown)).toBe("bad_configuration");
    expect(messageOf(thrown)).toContain(Object.keys(given)[0]);
    expect(messageOf(thrown)).not.toContain("canary");
  });
});
