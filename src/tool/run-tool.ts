import { compact, copyJson, isObject, type Json } from "../value/json.ts";
import { copyOf } from "../value/bytes.ts";
import { bytesContent, Content, valueIn } from "../store/bytes/content.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { Deadline } from "../value/deadline.ts";
import { toJson } from "../value/to-json.ts";
import { choiceIn, chosenPlaces, type Place, type SaveTarget } from "./save-target.ts";
import { ByrefError, codeOf } from "../errors.ts";
import type { AnyTool, CallOptions } from "./wrapped-tool.ts";

export interface Execution<Result> {
  readonly name: string;
  readonly tool: AnyTool;
  /** The input as returned by the tool's own schema. */
  readonly input: unknown;
  /** Time limit in milliseconds. */
  readonly toolMs: number;
  readonly call: CallOptions;
  /** The tool's `context`, unless the call has its own. */
  readonly context?: unknown;
  /** Converts the tool's return value; for a tool that yields several results, the last one. */
  readonly convert: (returned: unknown) => Promise<Result>;
}

/**
 * Runs the tool and returns its converted result. Rejects with the tool's error, or with `tool_timeout`.
 * Does not wait for a tool that hangs or whose turn is stopped.
 */
export async function runTool<Result>(execution: Execution<Result>): Promise<Result> {
  const { name, tool, input, toolMs, call, context, convert } = execution;
  if (call.signal.aborted) throw stopped(name);
  const limit = new Deadline(toolMs, {
    signal: call.signal,
    error: () =>
      new ByrefError("tool_timeout", `${name} did not finish within ${toolMs} ms. Ask for less.`, {
        toolMs,
      }),
  });
  const { signal } = limit;
  // The SDK types a tool's input by its schema, which has just validated it.
  const execute = tool.execute as (input: unknown, options: unknown) => unknown;
  const onInputAvailable = tool.onInputAvailable as ((options: unknown) => unknown) | undefined;
  const work = async () => {
    await onInputAvailable?.(Object.assign(executionOptions(call, signal, context), { input }));
    const options = executionOptions(call, signal, context);
    return convert(await lastOf(() => execute(input, options), signal));
  };
  return limit.race(work()).catch((error: unknown) => {
    const isStopped = call.signal.aborted && error === call.signal.reason;
    throw isStopped ? stopped(name) : error;
  });
}

/**
 * Returns the SDK's second argument. A tool that reads the messages receives a copy, because they are the
 * next prompt.
 */
function executionOptions(
  { toolCallId, messages, idempotencyKey, extras }: CallOptions,
  abortSignal: AbortSignal,
  context: unknown,
) {
  return {
    toolCallId,
    abortSignal,
    context,
    ...compact({ idempotencyKey }),
    ...extras,
    get messages() {
      // A copy has the type of its original.
      return copyJson([...messages]);
    },
  };
}

/** Returns the last result. An iterator that is no longer awaited is closed when it yields next. */
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

/** Bytes with their media type, as a tool may return them. A Blob or a Response is equivalent. */
export interface BytesResult {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** A tool's return value, ready to be saved. */
interface ToolResult {
  readonly value: Json | Content;
  /** Notes about converted values, one sentence each. */
  readonly notes: readonly string[];
}

/** A result with the places to save it in; without any, it gets a name of its own. */
export interface PlacedResult extends ToolResult {
  readonly places: readonly Place[];
}

interface PlacementOptions {
  readonly target: SaveTarget | undefined;
  /** True if the tool may not choose among several places: its choice could reveal a guarded value. */
  readonly isFixed: boolean;
  readonly store: VariableStore;
}

/**
 * Converts a return value and determines its places. If there are alternatives, the tool may have chosen
 * one.
 */
export async function placedResultOf(
  returned: unknown,
  { target, isFixed, store }: PlacementOptions,
): Promise<PlacedResult> {
  if (target === undefined) return { ...(await toolResultOf(returned, store)), places: [] };
  const given = returned instanceof Content ? valueIn(returned) : returned;
  const choice: ReturnType<typeof choiceIn> =
    target.operator === "first" ? choiceIn(given) : { value: given };
  const { value, named } = choice.named === undefined ? { value: returned } : choice;
  const places = chosenPlaces(target, isFixed ? undefined : named);
  return { ...(await toolResultOf(value, store)), places };
}

/**
 * Converts a tool's return value to a value of the store. A Response is streamed into the store by its
 * content type, as text or records up to the maximum size of a variable. Bytes stay bytes, anything else
 * becomes JSON. Throws `bad_value` or `limit_exceeded`, and `tool_failed` for a Response with an error
 * status.
 */
async function toolResultOf(returned: unknown, store: VariableStore): Promise<ToolResult> {
  // A text may be longer than the limit for JSON.
  if (typeof returned === "string" || returned instanceof Content) {
    return { value: returned, notes: [] };
  }
  if (returned instanceof Response) return responseResult(returned, store);
  const bytes = await bytesIn(returned);
  if (bytes !== undefined) return { value: await bytesOrRecords(bytes, store), notes: [] };
  return toJson(returned);
}

/** Returns the content to save: records if the store reads the media type as such, and they are not broken. */
export async function bytesOrRecords(
  { bytes, mediaType }: BytesResult,
  store: VariableStore,
): Promise<Content> {
  try {
    const records = await store.receiveRecords(new Blob([copyOf(bytes)]).stream(), mediaType);
    if (records !== undefined) return records;
  } catch (error) {
    if (codeOf(error) === "internal") throw error;
  }
  return bytesContent(bytes, mediaType);
}

async function responseResult(response: Response, store: VariableStore): Promise<ToolResult> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The server answered ${response.status} ${response.statusText}`.trim());
  }
  const [mediaType = ""] = (response.headers.get("content-type") ?? "").split(";");
  const type = mediaType.trim().toLowerCase() || OCTETS;
  if (response.body === null) return { value: null, notes: [] };
  const records = await store.receiveRecords(response.body, type);
  return { value: records ?? (await store.receive(response.body, type)), notes: [] };
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

/** A copy, because the tool may continue to use its own. */
function plainBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return copyOf(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (!ArrayBuffer.isView(value)) return undefined;
  return copyOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
}
