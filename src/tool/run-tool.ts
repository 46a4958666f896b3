import type { ModelMessage } from "ai";
import { ByrefError } from "../errors.ts";
import { isObject } from "../value/json.ts";
import type { AnyTool, CallOptions } from "./wrapped-tool.ts";

export interface Execution<Result> {
  readonly name: string;
  readonly tool: AnyTool;
  /** As the tool's own schema gives it. */
  readonly input: unknown;
  /** Time limit in milliseconds. */
  readonly toolMs: number;
  readonly call: CallOptions;
  /** Takes in what the tool returned; of one that yields results one after the other, the last. */
  readonly takeIn: (returned: unknown) => Promise<Result>;
}

/**
 * The tool's result, taken in. Rejects with what the tool throws, or with `tool_timeout`; a tool that
 * hangs, or whose turn is stopped, is not waited for.
 */
export async function runTool<Result>(execution: Execution<Result>): Promise<Result> {
  const { name, tool, input, toolMs, call, takeIn } = execution;
  if (call.signal.aborted) throw stopped(name);
  const timeout = new AbortController();
  const signal = AbortSignal.any([call.signal, timeout.signal]);
  // The SDK types a tool's input by its schema, which has just checked it.
  const execute = tool.execute as (input: unknown, options: unknown) => unknown;
  const told = tool.onInputAvailable as ((options: unknown) => unknown) | undefined;
  const work = async () => {
    await told?.(Object.assign(executionOptions(call, signal), { input }));
    return takeIn(await lastOf(() => execute(input, executionOptions(call, signal)), signal));
  };
  return withTimeout(work(), { name, toolMs, timeout, signal: call.signal });
}

/** The SDK's second argument. A tool that looks at the messages gets a copy: they are the next prompt. */
function executionOptions(
  { toolCallId, messages, idempotencyKey }: CallOptions,
  abortSignal: AbortSignal,
) {
  return {
    toolCallId,
    abortSignal,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    get messages() {
      // A copy is of the type of what it copies.
      return messages.map(copied) as ModelMessage[];
    },
  };
}

/** Arrays and plain objects anew; URLs and bytes, which cannot be cloned or need not be, as they are. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copied(inner)]));
}

/** One that is not waited for any more is closed when it yields next. */
async function lastOf(run: () => unknown, signal: AbortSignal): Promise<unknown> {
  const result = await run();
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result))
    return result;
  // A stream of bytes is one result.
  if (result instanceof ReadableStream) return new Response(result);
  let last: unknown;
  for await (const value of result as AsyncIterable<unknown>) {
    if (signal.aborted) break;
    last = value;
  }
  return last;
}

interface Deadline {
  readonly name: string;
  readonly toolMs: number;
  readonly timeout: AbortController;
  readonly signal: AbortSignal;
}

/** A tool that hangs is told to stop, and not waited for. */
async function withTimeout<Result>(result: Promise<Result>, deadline: Deadline): Promise<Result> {
  const { name, toolMs, timeout, signal } = deadline;
  let cleanUp = () => {};
  // Not `Promise.withResolvers`: Node 20 has none.
  const cutOff = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      const message = `${name} did not finish within ${toolMs} ms.`;
      reject(new ByrefError("tool_timeout", message, { toolMs }));
      timeout.abort();
    }, toolMs);
    const stop = () => reject(stopped(name));
    signal.addEventListener("abort", stop, { once: true });
    cleanUp = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    };
  });
  return Promise.race([result, cutOff]).finally(cleanUp);
}

function stopped(name: string): ByrefError {
  return new ByrefError("tool_failed", `${name} was stopped.`);
}
