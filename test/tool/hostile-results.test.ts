import { expect, it, vi } from "vitest";
import { codeOf } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { never } from "../support/fault-steps.ts";
import { returning, runOnce } from "../support/wrapped.ts";

/** Returns a function that throws `thrown`. */
function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}

function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value.self = [value];
  return value;
}

/** Throws on every access, except that a promise can see that it is not a thenable. */
function closedProxy(): object {
  const closed = throwing(new Error("Closed."));
  const traps = ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor"];
  const handler = Object.fromEntries(traps.map((trap) => [trap, closed]));
  return new Proxy({}, { ...handler, get: (_, key) => (key === "then" ? undefined : closed()) });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** An object that promises treat as a promise. */
const thenable = (then: () => unknown): object => Object.fromEntries(new Map().set("then", then));

function detached(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

/** An error whose `message` getter throws. */
function mute(): unknown {
  return Object.defineProperty(new Error("No."), "message", { get: throwing("No message.") });
}

function breakingStream(): ReadableStream<Uint8Array> {
  let pulls = 0;
  return new ReadableStream({
    pull(controller) {
      if (pulls++ > 2) throw new TypeError("terminated");
      controller.enqueue(new Uint8Array(100_000));
    },
  });
}

function hangingStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array([91])),
    pull: never,
  });
}

function lockedStream(): ReadableStream<Uint8Array> {
  const stream = new Blob(["ab"]).stream();
  stream.getReader();
  return stream;
}

/** Returns a response with the JSON content type. */
function throwingAt(key: string): object {
  return Object.defineProperty({}, key, { get: throwing("No."), enumerable: true });
}

function answering(body: BodyInit): Response {
  return new Response(body, { headers: { "content-type": "application/json" } });
}

async function readResponse(): Promise<Response> {
  const response = answering("[]");
  await response.text();
  return response;
}

/** Yields one result, then the result of `next`. */
async function* yielding(next: () => unknown): AsyncGenerator<unknown> {
  yield 1;
  yield await next();
}

/** Yields results without an end, one per second. */
async function* unending(): AsyncGenerator<number> {
  for (let n = 0; ; n++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    yield n;
  }
}

/**
 * Values that a tool may return or throw, and the outcome: an error code, or the saved value. A function creates
 * each value, because some can be read only once and some change.
 */
const hostile: Readonly<Record<string, readonly [run: () => unknown, becomes: string]>> = {
  "a function": [() => () => 1, "bad_value"],
  "a getter for bytes that throws": [() => throwingAt("bytes"), "tool_failed"],
  "a Proxy that throws": [() => closedProxy(), "tool_failed"],
  "a Proxy that has been revoked": [() => revoked(), "tool_failed"],
  "a thenable that throws": [() => thenable(throwing("No.")), "tool_failed"],
  "a thenable that never comes": [() => thenable(() => undefined), "tool_timeout"],
  "a promise inside that is going to fail": [() => [Promise.reject(new Error("No."))], "bad_value"],
  "an array without elements": [() => [1].concat(Array(2 ** 31)), "limit_exceeded"],
  "an array of ten million": [() => Array(1e7).fill(0), "limit_exceeded"],
  "a million objects and one": [() => Array.from(Array(1_000_001), Object), "limit_exceeded"],
  "lone surrogates": [() => ["\ud800", "\udc00 a \ud800"], '["\\ud800","\\udc00 a \\ud800"]'],
  "a lone surrogate alone": [() => "a\ud800", '"a\\ud800"'],
  "NUL, line ends, BOM": [() => "\0\r\n\u2028\ufeff", '"\\u0000\\r\\n\u2028\ufeff"'],
  "what looks like our output": [() => ({ $var: "x", value: 1 }), '{"$var":"x","value":1}'],
  "a detached buffer": [() => detached(), "tool_failed"],
  "a Blob": [() => new Blob(["ab"], { type: "text/plain" }), '"ab"'],
  "a Response with an error": [() => new Response("No.", { status: 500 }), "tool_failed"],
  "a Response that is not what it says": [() => answering("{"), "bad_json"],
  "a Response whose body breaks": [() => answering(breakingStream()), "tool_failed"],
  "a Response whose body hangs": [() => answering(hangingStream()), "tool_timeout"],
  "a Response that was read": [() => readResponse(), "tool_failed"],
  "a stream that breaks": [() => breakingStream(), "tool_failed"],
  "a stream that hangs": [() => hangingStream(), "tool_timeout"],
  "a stream of no bytes": [
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
  "undefined that it throws": [throwing(undefined), "tool_failed"],
  "a BigInt that it throws": [throwing(1n), "tool_failed"],
  "a Proxy that it throws": [throwing(closedProxy()), "tool_failed"],
  "an error with a cycle that it throws": [throwing(cyclic()), "tool_failed"],
  "an error that cannot say what it is": [throwing(mute()), "tool_failed"],
  "an error of a megabyte": [throwing(new Error("x".repeat(1_000_000))), "tool_failed"],
  "an error that calls itself ours": [throwing({ code: "storage_full" }), "storage_full"],
  "an abort that nobody wants": [throwing(new DOMException("No.", "AbortError")), "tool_failed"],
};

/** Returns the code of the call's error, "bytes", or the saved value as JSON. */
async function outcomeOf(execute: () => unknown): Promise<string> {
  const store = new MemoryStore();
  try {
    const { run, saved } = await runOnce(returning(execute), {}, { store });
    if (run.kind === "failed") return run.code;
    if (saved?.info?.type === "bytes") return "bytes";
    return JSON.stringify(await store.read("act_1"));
  } catch (error) {
    return codeOf(error);
  }
}

it.each(Object.entries(hostile))("a tool that returns or throws %s", async (_, [run, becomes]) => {
  const begun = Promise.withResolvers<void>();
  const hangs = becomes === "tool_timeout";
  if (hangs) vi.useFakeTimers();
  const outcome = outcomeOf(() => {
    begun.resolve();
    return run();
  });
  await begun.promise;
  if (hangs) await vi.advanceTimersByTimeAsync(limits.toolMs);
  expect(await outcome).toBe(becomes);
});
