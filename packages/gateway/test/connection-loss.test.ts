import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { reasonOf } from "../src/server-errors.ts";

describe("the reason why a server does not answer", () => {
  const http = (status: number, statusText: string, text?: string) =>
    new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "Error POSTing to endpoint: x", {
      status,
      statusText,
      ...(text !== undefined && { text }),
    });
  const system = (message: string, code: string) => Object.assign(new Error(message), { code });
  const failed = (cause: unknown) => new TypeError("fetch failed", { cause });
  const PAGE = `<!DOCTYPE html>
<html><head>
  <title>502 Bad
    Gateway</title><style>h1 { color: red }</style></head>
<body><h1>Sorry</h1>${"<p>x</p>".repeat(50)}</body></html>`;

  it.each([
    [
      failed(system("connect ECONNREFUSED ::1:9", "ECONNREFUSED")),
      "fetch failed: connect ECONNREFUSED ::1:9.",
    ],
    [failed(new Error("bad port")), "fetch failed: bad port."],
    [
      failed(new AggregateError([system("connect ECONNREFUSED ::1:9", "ECONNREFUSED")])),
      "fetch failed: connect ECONNREFUSED ::1:9.",
    ],
    [
      new SdkError(SdkErrorCode.EraNegotiationFailed, "Probe failed: fetch failed", undefined, {
        cause: failed(system("self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT")),
      }),
      "Probe failed: fetch failed: self-signed certificate.",
    ],
    [failed(undefined), "fetch failed."],
    [new Error("It is bad", { cause: new Error("[{ a dump }]") }), "It is bad."],
    [http(502, "Bad Gateway", PAGE), "HTTP 502 Bad Gateway: 502 Bad Gateway."],
    [
      http(500, "", "<html><body><p>One</p>\n<script>two()</script></body></html>"),
      "HTTP 500: One.",
    ],
    [
      http(500, "Internal Server Error", "Out of\nmemory"),
      "HTTP 500 Internal Server Error: Out of\nmemory.",
    ],
    [
      http(400, "Bad Request", '{"error":"<b>no</b>"}'),
      'HTTP 400 Bad Request: {"error":"<b>no</b>"}',
    ],
    [http(503, "Service Unavailable", ""), "HTTP 503 Service Unavailable."],
    [http(404, "Not Found"), "HTTP 404 Not Found: Error POSTing to endpoint: x."],
    [new Error("Parsing failed at <html>"), "Parsing failed at <html>."],
    [new ProtocolError(-32603, `${PAGE} (HTTP 401)`), `${PAGE} (HTTP 401)`],
    [
      new Error(`Error POSTing to endpoint (HTTP 502): ${PAGE}`),
      "Error POSTing to endpoint (HTTP 502): 502 Bad Gateway.",
    ],
  ])("says what happened: %s", (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });

  it.each([
    http(401, "Unauthorized", PAGE),
    http(401, "", ""),
    new Error("SSE error: Non-200 status code (401)"),
    new Error("Error POSTing to endpoint (HTTP 401): null"),
  ])("says at 401 where a token belongs: %s", (error) => {
    expect(reasonOf(error)).toMatch(/ A token belongs into "headers" of the server: .*\.$/u);
    expect(reasonOf(error)).toContain("401");
  });
});
