import { APICallError, InvalidResponseDataError } from "@ai-sdk/provider";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ByrefError } from "../../src/errors.ts";
import {
  StreamCutOff,
  isRetryable,
  pause,
  retryDelayMs,
} from "../../src/turn/model/model-failure.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

function answered(statusCode: number, responseHeaders: Record<string, string> = {}): APICallError {
  const about = { message: "No.", url: "https://example.com", requestBodyValues: {} };
  return new APICallError({ ...about, statusCode, responseHeaders });
}

function withCode(code: string, message = "It failed."): Error {
  return Object.assign(new Error(message), { code });
}

beforeEach(() => {
  vi.useFakeTimers({ now: NOW_MS });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a model call is retryable when", () => {
  it.each<[string, unknown]>([
    ...[408, 409, 429, 500, 502, 503, 529].map((status): [string, unknown] => [
      `it was answered ${status}`,
      answered(status),
    ]),
    ["the model was silent", new ByrefError("model_timeout", "The model said nothing.")],
    ["its answer was cut off", new StreamCutOff()],
    ["Node could not connect", new TypeError("fetch failed", { cause: withCode("ECONNREFUSED") })],
    ["Node was cut off", new TypeError("terminated", { cause: withCode("UND_ERR_SOCKET") })],
    ["workerd was cut off", new Error("Network connection lost.")],
    ["the platform says so", Object.assign(new Error("Reset."), { retryable: true })],
    [
      "a provider wraps that",
      { message: "No.", cause: withCode("ECONNRESET"), isRetryable: false },
    ],
    ["it took longer than its caller allows", new DOMException("Too long.", "TimeoutError")],
    [
      "a provider reports a missing end",
      new InvalidResponseDataError({
        data: undefined,
        message: "Response stream ended without a finish reason.",
      }),
    ],
    ["an error part is normalized", { message: "Busy.", type: "x", isRetryable: true }],
    [
      "an error part is OpenAI's",
      { error: { type: "server_error", message: "Sorry.", code: null } },
    ],
    [
      "an error part is from the Responses API",
      { response: { error: { code: "rate_limit_exceeded" } } },
    ],
    ["an error part is Anthropic's", { type: "overloaded_error", message: "Overloaded" }],
    ["an error part has a status", { message: "No.", status: 503 }],
    ["an error part has one as its code", { message: "No.", code: "429" }],
    ["an error part is a word", "Overloaded"],
  ])("%s", (_, error) => {
    expect(isRetryable(error)).toBe(true);
    expect(retryDelayMs(error, 1)).toBeGreaterThan(0);
  });
});

describe("a model call is not retryable when", () => {
  const circle: { error?: unknown } = {};
  circle.error = circle;
  it.each<[string, unknown]>([
    ...[400, 401, 403, 404, 413, 422].map((status): [string, unknown] => [
      `it was answered ${status}`,
      answered(status),
    ]),
    ["nobody knows what happened", new Error("The connection broke.")],
    ["it is a bug", new TypeError("x is not a function")],
    [
      "an object is overloaded",
      Object.assign(new Error("No."), { overloaded: true, retryable: true }),
    ],
    ["another code of ours says no", new ByrefError("bad_configuration", "No key.")],
    ["an error part says so", { message: "Busy.", isRetryable: false }],
    ["an error part refuses", { type: "invalid_request_error", message: "No.", code: "bad" }],
    ["an error part is some other text", "It is down."],
    ["it is undefined", undefined],
    ["it is null", null],
    ["it is a number", 500],
    ["it contains itself", circle],
  ])("%s", (_, error) => {
    expect(isRetryable(error)).toBe(false);
    expect(retryDelayMs(error, 1)).toBeUndefined();
  });
});

describe("the delay before a retry", () => {
  it("is half a second, then two, plus up to a quarter; there are three tries", () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    expect([1, 2, 3].map((tries) => retryDelayMs(answered(500), tries))).toEqual([
      500,
      2_000,
      undefined,
    ]);
    random.mockReturnValue(1);
    expect([1, 2].map((tries) => retryDelayMs(answered(500), tries))).toEqual([625, 2_500]);
  });

  it.each<[string, Record<string, string>, number]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["no time", { "retry-after": "0" }, 0],
    ["a date", { "retry-after": new Date(NOW_MS + 9_000).toUTCString() }, 9_000],
    ["a date in the past", { "retry-after": new Date(NOW_MS - 9_000).toUTCString() }, 0],
    ["milliseconds", { "retry-after-ms": "1500", "retry-after": "2" }, 1_500],
    ["a minute", { "retry-after": "60" }, 60_000],
    ["an hour", { "retry-after": "3600" }, 60_000],
    ["nonsense", { "retry-after": "soon" }, 500],
    ["a negative number", { "retry-after-ms": "-1" }, 500],
  ])("is as long as the response requests, up to a minute: %s", (_, headers, delayMs) => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    expect(retryDelayMs(answered(429, headers), 1)).toBe(delayMs);
  });

  it("may be requested by a response inside another error", () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const error = Object.assign(new Error("Gateway."), {
      isRetryable: true,
      cause: answered(429, { "retry-after": "3" }),
    });
    expect(retryDelayMs(error, 2)).toBe(3_000);
  });

  it("ends early when the turn is stopped, and leaves no timer", async () => {
    const controller = new AbortController();
    const [set, clear] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")];
    let ended = 0;
    const waits = [107, 60_007].map((delayMs) => pause(delayMs, controller.signal));
    for (const wait of waits) void wait.then(() => ended++);
    await vi.advanceTimersByTimeAsync(107);
    expect(ended).toBe(1);
    controller.abort();
    await Promise.all(waits);
    await pause(60_007, controller.signal);
    // Other files of the same worker may have timers of their own.
    const own = set.mock.results.filter((_, at) => Number(set.mock.calls[at]?.[1]) % 100 === 7);
    const isCleared = (timer: unknown) => clear.mock.calls.some(([one]) => one === timer);
    expect(own.map(({ value }) => isCleared(value))).toEqual([true, true]);
  });
});
