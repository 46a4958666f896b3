import { asSchema, jsonSchema, type JSONSchema7, type ModelMessage, type ToolSet } from "ai";
import { ByrefError, codeOf, type ErrorCode, messageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import type { Found, Syntax } from "../reference/reference.ts";
import { resolveReferences } from "../reference/resolve.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import { nameForCall } from "../store/names.ts";
import type { Awaitable, VariableInfo, VariableStore, Write } from "../store/variable-store.ts";
import { renderText } from "../value/render.ts";
import { clip, deepFreeze, type Json } from "../value/json.ts";
import { toJson } from "../value/to-json.ts";
import { lookupInStore } from "./store-lookup.ts";
import { checkInput, digestOf } from "./tool-input.ts";
import { Labels } from "./labels.ts";
import { notKept, type ToolOutput, toolOutput } from "./tool-output.ts";
import type { ToolPolicy } from "./tool-policy.ts";
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
  /** By tool: which secrets it is given, and what its results are. */
  readonly policies?: Readonly<Record<string, ToolPolicy>>;
  /** Whoever keeps the variables that the calls use from being evicted; see `VariableStore.holds`. */
  readonly owner?: string;
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
      /**
       * Saves the result as a variable; throws, or rejects with, what the store throws. A result that is
       * over a limit is not kept: then there is no `info`, and the output says so.
       */
      save(): Awaitable<Saved>;
    }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

export interface Saved {
  readonly info?: VariableInfo;
  readonly output: ToolOutput;
}

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
  const labels = new Labels(named.options.store);
  try {
    // What the model wrote is history: the tool must not change it.
    const input = deepFreeze(structuredClone(given));
    const references = new Counter();
    const resolution = await resolve(named, input, { labels, references });
    try {
      // A digest of what is guarded would let it be guessed.
      const digest = await digestOf(labels.isGuarded ? input : resolution.value);
      const value = await execute(named, resolution, call);
      return {
        kind: "done",
        references,
        save: () => save(named, { input, resolution, value, digest, labels, call }),
      };
    } catch (error) {
      return labels.isGuarded ? failed(error, withheld(named.name)) : failed(error);
    }
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown, message: string = shortened(messageOf(error))): ToolRun {
  const code = codeOf(error);
  return { kind: "failed", code: code === "internal" ? "tool_failed" : code, message };
}

/** What a tool says of a guarded value is guarded too. */
function withheld(name: string): string {
  return `${name} failed; what it said is withheld, because it was given a guarded value.`;
}

function resolve(
  { name, options }: Named,
  input: Json,
  { labels, references }: { readonly labels: Labels; readonly references: Counter },
): Promise<Resolved> {
  const { store, syntaxes, unknown, owner, policies } = options;
  const lookup = lookupInStore(store, {
    secrets: policies?.[name]?.secrets ?? [],
    onUsed: (used) => {
      labels.add(used);
      if (owner !== undefined) store.holds.hold(owner, used);
    },
  });
  return resolveReferences(input, lookup, {
    ...(syntaxes === undefined ? {} : { syntaxes }),
    ...(unknown === undefined ? {} : { unknown }),
    onResolved: (source, found) => references.add(source, found),
  });
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
  readonly labels: Labels;
  readonly call: CallOptions;
}

function save(named: Named, result: Result): Awaitable<Saved> {
  const { name, options } = named;
  const { input, resolution, value, digest, labels, call } = result;
  const write: Write = {
    value: value.value,
    name: { ...nameFor(named, result), inputDigest: digest },
    tool: name,
    toolCallId: call.toolCallId,
    input,
    ...labels.ofResult(name, options.policies?.[name]),
    ...(value.notes.length === 0 ? {} : { description: value.notes.join(" ") }),
  };
  const kept = (info: VariableInfo): Saved => {
    if (options.owner !== undefined) options.store.holds.hold(options.owner, info.name);
    return { info, output: toolOutput(info, value.value, resolution.unresolved) };
  };
  const refused = (error: unknown): Saved => {
    if (codeOf(error) !== "limit_exceeded") throw error;
    return { output: notKept(write, messageOf(error)) };
  };
  try {
    const saving = options.store.save(write);
    return saving instanceof Promise ? saving.then(kept).catch(refused) : kept(saving);
  } catch (error) {
    return refused(error);
  }
}

/** A name is for all to see: it is not made of what is guarded. */
function nameFor({ name, options }: Named, { resolution, value, labels }: Result) {
  if (labels.isGuarded) return { base: name, numbered: true };
  const chosen = options.naming?.(name, resolution.value, value.value);
  return chosen === undefined
    ? nameForCall(name, resolution.value)
    : { base: chosen, numbered: false };
}

class Counter implements ReferenceCount {
  authoredChars = 0;
  resolvedChars = 0;

  add(source: string, { value, chars }: Found): void {
    this.authoredChars += source.length;
    this.resolvedChars += chars ?? renderText(value).length;
  }
}
