import { asSchema, jsonSchema, type JSONSchema7, type ModelMessage, type ToolSet } from "ai";
import { ByrefError, codeOf, type ErrorCode, messageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import type { Found, Syntax } from "../reference/reference.ts";
import { resolveReferences } from "../reference/resolve.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import { nameForCall } from "../store/names.ts";
import type { VariableInfo, VariableStore } from "../store/variable-store.ts";
import { renderText } from "../value/render.ts";
import { clip, deepFreeze, type Json } from "../value/json.ts";
import { toJson } from "../value/to-json.ts";
import { lookupInStore } from "./store-lookup.ts";
import { checkInput, digestOf } from "./tool-input.ts";
import { type ToolOutput, toolOutput } from "./tool-output.ts";
import { widenSchema } from "./widen-schema.ts";

/** Any tool that a set may hold. */
export type AnyTool = ToolSet[string];

/** Names the variable that a result is saved as; its input is the resolved one. */
export type Naming = (tool: string, input: Json, output: Json) => string;

export interface WrapOptions {
  readonly store: VariableStore;
  /** How references are written. Default: dollar only. */
  readonly syntaxes?: readonly (SyntaxName | Syntax)[];
  /** What an unknown name in a tool input is. Default: text that stays, and is noted. */
  readonly unknown?: "keep" | "error";
  /** Default: the tool's name and its most telling argument, e.g. `get_weather_nyc`. */
  readonly naming?: Naming;
  /** Time limit of one call in milliseconds. */
  readonly toolMs?: number;
  /** Tools that promise not to change their input: they get the shared, frozen value without a copy. */
  readonly readonlyTools?: readonly string[];
}

export interface CallOptions {
  readonly toolCallId: string;
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
}

/** What came of a call: data, because the model is told of either. */
export type ToolRun =
  | {
      readonly kind: "done";
      /** Characters that the model wrote as references, and that they stood for. */
      readonly references: ReferenceCount;
      /** Saves the result as a variable, synchronously; throws what the store throws. */
      save(): { readonly info: VariableInfo; readonly output: ToolOutput };
    }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

export interface ReferenceCount {
  readonly authoredChars: number;
  readonly resolvedChars: number;
}

/** A tool as the model is shown it, and the way to run it by reference. */
export interface WrappedTool {
  readonly name: string;
  /** The same tool with a schema that takes references; it has no `execute`. */
  readonly shown: AnyTool;
  /** Resolves, checks, executes. Never throws; nothing is saved before `save`. */
  run(input: Json, options: CallOptions): Promise<ToolRun>;
}

/** Every tool of a set by its name. Tools that the provider executes are shown as they are. */
export async function wrapTools(
  tools: ToolSet,
  options: WrapOptions,
): Promise<ReadonlyMap<string, WrappedTool>> {
  const wrapped = await Promise.all(
    Object.entries(tools).map(
      async ([name, tool]) => [name, await wrapTool(name, tool, options)] as const,
    ),
  );
  return new Map(wrapped);
}

export async function wrapTool(
  name: string,
  tool: AnyTool,
  options: WrapOptions,
): Promise<WrappedTool> {
  const schema: JSONSchema7 = await asSchema(tool.inputSchema).jsonSchema;
  const { execute: _execute, toModelOutput: _toModelOutput, ...rest } = tool;
  const isProviders = tool.type === "provider";
  // Without a validator: the resolved input is checked, not the references.
  const shown = isProviders
    ? tool
    : ({ ...rest, inputSchema: jsonSchema(widenSchema(schema)) } as AnyTool);
  return { name, shown, run: (input, call) => runTool({ name, tool, options }, input, call) };
}

interface Named {
  readonly name: string;
  readonly tool: AnyTool;
  readonly options: WrapOptions;
}

async function runTool(named: Named, given: Json, call: CallOptions): Promise<ToolRun> {
  try {
    // What the model wrote is history: the tool must not change it.
    const input = deepFreeze(structuredClone(given));
    const references = new Counter();
    const { store, syntaxes, unknown } = named.options;
    const resolution = await resolveReferences(input, lookupInStore(store), {
      ...(syntaxes === undefined ? {} : { syntaxes }),
      ...(unknown === undefined ? {} : { unknown }),
      onResolved: (source, found) => references.add(source, found),
    });
    const digest = await digestOf(resolution.value);
    const value = await execute(named, resolution, call);
    return {
      kind: "done",
      references,
      save: () => save(named, { input, resolution, value, digest, call }),
    };
  } catch (error) {
    const code = codeOf(error);
    return {
      kind: "failed",
      code: code === "internal" ? "tool_failed" : code,
      message: shortened(messageOf(error)),
    };
  }
}

interface Resolved {
  readonly value: Json;
  readonly unresolved: readonly Unresolved[];
}

async function execute({ name, tool, options }: Named, resolution: Resolved, call: CallOptions) {
  if (tool.execute === undefined) {
    throw new ByrefError(
      "unknown_tool",
      `${name} cannot be executed here: it has no execute function.`,
    );
  }
  const checked = await checkInput(tool, resolution.value, {
    unresolved: resolution.unresolved,
    readonly: options.readonlyTools?.includes(name) ?? false,
  });
  if (call.signal.aborted) throw stopped(name);
  const toolMs = options.toolMs ?? limits.toolMs;
  const timeout = new AbortController();
  const signal = AbortSignal.any([call.signal, timeout.signal]);
  // The SDK types a tool's input by its schema, which has just checked it.
  const run = tool.execute as (input: unknown, options: unknown) => unknown;
  const given = executionOptions(call, signal);
  const result = lastOf(() => run(checked, given), signal);
  return toJson(await withTimeout(result, { name, toolMs, timeout, signal: call.signal }));
}

/** The SDK's second argument. A tool that looks at the messages gets a copy: they are the next prompt. */
function executionOptions({ toolCallId, messages }: CallOptions, abortSignal: AbortSignal) {
  return {
    toolCallId,
    abortSignal,
    get messages() {
      return structuredClone(messages);
    },
  };
}

/** An error may carry all that a server answered; what the model is shown of it is bounded. */
function shortened(message: string): string {
  const shown = clip(message, limits.maxShownResultChars);
  return shown === message ? message : `${shown}… (+${message.length - shown.length} more)`;
}

/**
 * The result; of a tool that yields results one after the other, the last. One that is not waited for
 * any more is closed when it yields next.
 */
async function lastOf(run: () => unknown, signal: AbortSignal): Promise<unknown> {
  const result = await run();
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result))
    return result;
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
  const { promise: cutOff, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `${name} did not finish within ${toolMs} ms.`;
    reject(new ByrefError("tool_timeout", message, { toolMs }));
    timeout.abort();
  }, toolMs);
  const stop = () => reject(stopped(name));
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([result, cutOff]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

function stopped(name: string): ByrefError {
  return new ByrefError("tool_failed", `${name} was stopped.`);
}

interface Result {
  readonly input: Json;
  readonly resolution: Resolved;
  readonly value: { readonly value: Json; readonly notes: readonly string[] };
  readonly digest: string;
  readonly call: CallOptions;
}

function save({ name, options }: Named, { input, resolution, value, digest, call }: Result) {
  const chosen = options.naming?.(name, resolution.value, value.value);
  const automatic =
    chosen === undefined ? nameForCall(name, resolution.value) : { base: chosen, numbered: false };
  const info = options.store.save({
    value: value.value,
    name: { ...automatic, inputDigest: digest },
    tool: name,
    toolCallId: call.toolCallId,
    input,
    ...(value.notes.length === 0 ? {} : { description: value.notes.join(" ") }),
  });
  return { info, output: toolOutput(info, value.value, resolution.unresolved) };
}

class Counter implements ReferenceCount {
  authoredChars = 0;
  resolvedChars = 0;

  add(source: string, { value, chars }: Found): void {
    this.authoredChars += source.length;
    this.resolvedChars += chars ?? renderText(value).length;
  }
}
