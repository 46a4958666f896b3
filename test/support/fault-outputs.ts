import { never } from "./fault-steps.ts";
import {
  answering,
  breakingStream,
  closedProxy,
  cyclic,
  detached,
  hangingStream,
  lockedStream,
  mute,
  readResponse,
  revoked,
  thenable,
  throwing,
  unending,
  yielding,
} from "./fault-values.ts";

/**
 * Values that a tool may return or throw, and the outcome: an error code, or the saved value. A function creates
 * each value, because some can be read only once and some change.
 */
export const hostile: Readonly<Record<string, readonly [run: () => unknown, becomes: string]>> = {
  "a function": [() => () => 1, "bad_value"],
  "a Map with keys of the same text": [
    () =>
      new Map<unknown, 1>([
        [1, 1],
        ["1", 1],
      ]),
    "bad_value",
  ],
  "a WeakMap": [() => new WeakMap(), "{}"],
  "a getter that throws": [
    () => ({
      get a() {
        throw new Error("No.");
      },
    }),
    "bad_value",
  ],
  "a getter for bytes that throws": [
    () => ({
      get bytes() {
        throw new Error("No.");
      },
    }),
    "tool_failed",
  ],
  "a Proxy that throws": [() => closedProxy(), "tool_failed"],
  "a Proxy that has been revoked": [() => revoked(), "tool_failed"],
  "a thenable that throws": [() => thenable(throwing("No.")), "tool_failed"],
  "a thenable that never comes": [() => thenable(() => undefined), "tool_timeout"],
  "a promise inside that is going to fail": [() => [Promise.reject(new Error("No."))], "bad_value"],
  "an array without elements": [
    () => Array.from({ length: 3 }).concat(Array(2 ** 31)),
    "limit_exceeded",
  ],
  "an array of ten million": [() => Array(1e7).fill(0), "limit_exceeded"],
  "a million objects and one": [
    () => Array.from({ length: 1_000_001 }, () => ({})),
    "limit_exceeded",
  ],
  "lone surrogates": [() => ["\ud800", "\udc00 a \ud800"], '["\\ud800","\\udc00 a \\ud800"]'],
  "a lone surrogate alone": [() => "a\ud800", '"a\\ud800"'],
  "NUL, line ends, BOM": [() => "\0\r\n\u2028\ufeff", '"\\u0000\\r\\n\u2028\ufeff"'],
  "what looks like our own output": [
    () => ({ $var: "other", value: 1 }),
    '{"$var":"other","value":1}',
  ],
  "a detached buffer": [() => detached(), "tool_failed"],
  "a Blob": [() => new Blob(["ab"], { type: "text/plain" }), "bytes"],
  "a Response with an error": [() => new Response("No.", { status: 500 }), "tool_failed"],
  "a Response that is not what it says": [() => answering("{"), "bad_json"],
  "a Response whose body breaks": [() => answering(breakingStream()), "tool_failed"],
  "a Response whose body hangs": [() => answering(hangingStream()), "tool_timeout"],
  "a Response that was read": [() => readResponse(), "tool_failed"],
  "a stream that breaks": [() => breakingStream(), "tool_failed"],
  "a stream that hangs": [() => hangingStream(), "tool_timeout"],
  "a stream of what is no bytes": [
    () => new ReadableStream({ start: (c) => c.enqueue({}) }),
    "tool_failed",
  ],
  "a stream that somebody reads": [() => lockedStream(), "tool_failed"],
  "results one after the other that break": [() => yielding(throwing("No.")), "tool_failed"],
  "results one after the other that hang": [() => yielding(never), "tool_timeout"],
  "results one after the other that never end": [() => unending(), "tool_timeout"],
  "an iterator that is none": [() => ({ [Symbol.asyncIterator]: 5 }), "tool_failed"],
  "nothing, ever": [never, "tool_timeout"],
  "an error that it throws": [throwing(new Error("No.")), "tool_failed"],
  "a word that it throws": [throwing("No."), "tool_failed"],
  "undefined that it throws": [throwing(undefined), "tool_failed"],
  "null that it throws": [throwing(null), "tool_failed"],
  "a BigInt that it throws": [throwing(1n), "tool_failed"],
  "a symbol that it throws": [throwing(Symbol("s")), "tool_failed"],
  "a Proxy that it throws": [throwing(closedProxy()), "tool_failed"],
  "an error with a cycle that it throws": [throwing(cyclic()), "tool_failed"],
  "an error that cannot say what it is": [throwing(mute()), "tool_failed"],
  "an error of a megabyte": [throwing(new Error("x".repeat(1_000_000))), "tool_failed"],
  "an error that calls itself ours": [
    throwing({ code: "storage_full", message: "No." }),
    "storage_full",
  ],
  "an abort that nobody asked for": [
    throwing(new DOMException("No.", "AbortError")),
    "tool_failed",
  ],
};

export function isCode(becomes: string): boolean {
  return /^[a-z]+_[a-z]+$/.test(becomes);
}
