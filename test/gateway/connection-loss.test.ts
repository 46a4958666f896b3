import { DEFAULT_REQUEST_TIMEOUT_MSEC, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { reasonOf } from "../../src/gateway/connection-loss.ts";
import { gatewayConnectMs, gatewayGreetingMs } from "../../src/gateway/gateway-limits.ts";

describe("the reason why a server does not answer", () => {
  it("is a sentence", () => {
    expect(reasonOf(new Error("spawn nothing ENOENT"))).toBe("spawn nothing ENOENT.");
    expect(reasonOf(new Error("It ended."))).toBe("It ended.");
  });

  it("names the time", () => {
    const late = (data?: unknown) =>
      new SdkError(SdkErrorCode.RequestTimeout, "Request timed out", data);
    expect(reasonOf(late({ timeout: 20_000 }))).toBe("It gave no answer within 20 s.");
    expect(reasonOf(late())).toBe("It gave no answer in time.");
  });
});

it("connecting to a silent server takes less time than a client waits for a call", () => {
  expect(gatewayConnectMs + gatewayGreetingMs).toBeLessThan(DEFAULT_REQUEST_TIMEOUT_MSEC);
});
