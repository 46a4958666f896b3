import { compact, isObject, type Json } from "../value/json.ts";
import { copyOf } from "../value/bytes.ts";
import { bytesContent, type Content } from "../store/bytes/content.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { Deadline } from "../value/deadline.ts";
import { toJson } from "../value/to-json.ts";
import { choiceIn, chosenPlaces, type Place, type SaveTarget } from "./save-target.ts";
import type { ModelMessage } from "ai";
import { ByrefError } from "../errors.ts";
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
  const limit = new Deadline(toolMs, {
    signal: call.signal,
    error: () =>
      new ByrefError("tool_timeout", `${name} did not finish within ${toolMs} ms.`, { toolMs }),
  });
  const { signal } = limit;
  // The SDK types a tool's input by its schema, which has just checked it.
  const execute = tool.execute as (input: unknown, options: unknown) => unknown;
  const told = tool.onInputAvailable as ((options: unknown) => unknown) | undefined;
  const work = async () => {
    await told?.(Object.assign(executionOptions(call, signal), { input }));
    return takeIn(await lastOf(() => execute(input, executionOptions(call, signal)), signal));
  };
  return limit.race(work()).catch((error: unknown) => {
    const isStopped = call.signal.aborted && error === call.signal.reason;
    throw isStopped ? stopped(name) : error;
  });
}

/** The SDK's second argument. A tool that looks at the messages gets a copy: they are the next prompt. */
function executionOptions(
  { toolCallId, messages, idempotencyKey, extras }: CallOptions,
  abortSignal: AbortSignal,
) {
  return {
    toolCallId,
    abortSignal,
    ...compact({ idempotencyKey }),
    ...extras,
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

function stopped(name: string): ByrefError {
  return new ByrefError("tool_failed", `${name} was stopped.`);
}

/** Bytes with what they are, as a tool may return them; a Blob or a Response does as well. */
export interface BytesResult {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** What a tool returned, ready to be kept. */
interface ToolResult {
  readonly value: Json | Content;
  /** What had to be converted, one sentence each. */
  readonly notes: readonly string[];
}

/** A result with the places that it is to be saved in; none: under a name of its own. */
export interface PlacedResult extends ToolResult {
  readonly places: readonly Place[];
}

interface Placing {
  readonly target: SaveTarget | undefined;
  /** The tool may not choose among several places: its choice could reveal a guarded value. */
  readonly isFixed: boolean;
  readonly store: VariableStore;
}

/** What a call gave. Where its result may go to one of several places, the tool may have said to which. */
export async function placedResultOf(
  returned: unknown,
  { target, isFixed, store }: Placing,
): Promise<PlacedResult> {
  if (target === undefined) return { ...(await toolResultOf(returned, store)), places: [] };
  const { value, named } = target.operator === "first" ? choiceIn(returned) : { value: returned };
  const places = chosenPlaces(target, isFixed ? undefined : named);
  return { ...(await toolResultOf(value, store)), places };
}

/**
 * What a tool returned as a value of the store. A Response is taken in as it streams, by its content type:
 * text and records of any size that a variable may have. Bytes become bytes, anything else JSON. Throws
 * `bad_value` or `limit_exceeded`, and `tool_failed` for a Response that is an error.
 */
async function toolResultOf(returned: unknown, store: VariableStore): Promise<ToolResult> {
  // A text may be longer than JSON.
  if (typeof returned === "string") return { value: returned, notes: [] };
  if (returned instanceof Response) return responseResult(returned, store);
  const bytes = await bytesIn(returned);
  if (bytes !== undefined) return { value: bytesContent(bytes.bytes, bytes.mediaType), notes: [] };
  return toJson(returned);
}

async function responseResult(response: Response, store: VariableStore): Promise<ToolResult> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The server answered ${response.status} ${response.statusText}`.trim());
  }
  const [mediaType = ""] = (response.headers.get("content-type") ?? "").split(";");
  const type = mediaType.trim().toLowerCase() || OCTETS;
  if (response.body === null) return { value: null, notes: [] };
  return { value: await store.receive(response.body, type), notes: [] };
}

const OCTETS = "application/octet-stream";

async function bytesIn(value: unknown): Promise<BytesResult | undefined> {
  if (value instanceof Blob) {
    const bytes = new Uint8Array(await value.arrayBuffer());
    return { bytes, mediaType: value.type || OCTETS };
  }
  if (isObject(value) && value.bytes instanceof Uint8Array && typeof value.mediaType === "string") {
    return { bytes: copyOf(value.bytes), mediaType: value.mediaType };
  }
  const bytes = plainBytes(value);
  return bytes === undefined ? undefined : { bytes, mediaType: OCTETS };
}

/** A copy: the tool may go on using its own. */
function plainBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return copyOf(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (!ArrayBuffer.isView(value)) return undefined;
  return copyOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
}
