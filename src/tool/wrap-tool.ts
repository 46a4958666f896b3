import { clip } from "../value/characters.ts";
import { type ExactNumber, mapExactNumbers, printedDouble } from "../value/exact-number.ts";
import { compact, type Json } from "../value/json.ts";
import { jsonSchema, safeValidateTypes } from "@ai-sdk/provider-utils";
import type { JSONSchema7, ToolSet } from "ai";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { resolveReferences } from "../reference/resolve.ts";
import { nameForCall } from "../store/names.ts";
import { NO_FLOW } from "./call-flow.ts";
import { flowOf } from "./flow-of-call.ts";
import { misfitHint } from "./misfit-hint.ts";
import { failed } from "./policy.ts";
import { placedResultOf, runTool } from "./run-tool.ts";
import type { ResolvedInput } from "./save-result.ts";
import { withTarget } from "./save-target.ts";
import { lookupFor } from "./scoped-store.ts";
import {
  type CallableTool,
  type CallInput,
  type CallNames,
  type InputOptions,
  type PreparedCall,
  preparing,
} from "./tool-call.ts";
import { checkInput, jsonSchemaOf } from "./tool-input.ts";
import {
  type Definition,
  needsOwnDraft,
  schemaAt,
  typesIn,
  withoutKeywords,
} from "./json-schema.ts";
import { declaredIn } from "./unknown-parameters.ts";
import { widenSchema } from "./widen-schema.ts";
import type { AnyTool, CallOptions, WrapOptions, WrappedTool } from "./wrapped-tool.ts";

/** Wraps every tool of a set, by name. Tools that the provider executes are left unchanged. */
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

/** Wraps a tool. Calls fail with `unknown_tool` if the provider executes it or it has no `execute`. */
export async function wrapTool(
  name: string,
  tool: AnyTool,
  options: WrapOptions,
): Promise<WrappedTool> {
  if (tool.type === "provider") {
    return {
      name,
      shown: tool,
      flow: () => NO_FLOW,
      prepare: async () => failed(notExecutable(name)),
    };
  }
  const named: NamedTool = { name, tool, options };
  const { execute: _execute, toModelOutput: _toModelOutput, ...rest } = tool;
  const { schema, hasTarget, parameters } = shownSchema(named, await jsonSchemaOf(tool, name));
  // Has no validator, because the resolved input is validated, not the references. Otherwise the same tool.
  const shown = { ...rest, inputSchema: jsonSchema(schema) } as AnyTool;
  const wanted = targetOf(name, options.outputPath);
  const callable: CallableTool = {
    name,
    options,
    target: wanted === true ? hasTarget : wanted,
    parameters,
    names: (input) => namesIn(name, input, options),
    variables: () => options.store,
    input: (written, making) => inputOf(named, written, making),
    needsApproval: (checked, call) => needsApproval(named, checked, call),
    run: (prepared) => run(named, prepared),
  };
  const flow: WrappedTool["flow"] = (input, call) => flowOf(callable, input, call);
  return { name, shown, flow, prepare: preparing(callable) };
}

/** A schema as the model is shown it. */
interface ShownSchema {
  readonly schema: JSONSchema7;
  /** False without room for `_outputPath`. */
  readonly hasTarget: boolean;
  /** The parameters of the tool and of `schema`; undefined if there may be others. */
  readonly parameters: ReadonlySet<string> | undefined;
}

/** By the tool's own schema: each turn wraps all tools, and widening is most of the work. */
const shownSchemas = new WeakMap<JSONSchema7, Map<string, ShownSchema>>();

/** Returns the schema that the model is shown. */
export function shownSchema(
  { name, tool, options: { syntaxes, outputPath } }: NamedTool,
  schema: JSONSchema7,
): ShownSchema {
  const isStrict = tool.strict === true;
  const isChosen = targetOf(name, outputPath) === true;
  const make = (): ShownSchema => {
    const widened = widenSchema(schema, { syntaxes });
    const shown = isStrict || needsOwnDraft(schema) ? widened : conciseSchema(widened);
    const extended = isChosen ? withTarget(shown, isStrict) : undefined;
    const parameters = declaredIn(extended ?? schema);
    return { schema: extended ?? shown, hasTarget: extended !== undefined, parameters };
  };
  // Everything else that the result depends on.
  const key = [syntaxes?.includes("dollar") ?? true, isStrict, isChosen].join();
  const known = shownSchemas.get(schema) ?? new Map<string, ShownSchema>();
  const shown = known.get(key) ?? make();
  shownSchemas.set(schema, known.set(key, shown));
  return shown;
}

/**
 * Removes keywords that do not inform a model, because the schema is sent with each call. Not for strict tools, whose
 * providers require `additionalProperties: false`, nor for schemas that are valid in their own draft only.
 */
function conciseSchema(schema: JSONSchema7): JSONSchema7 {
  if (schema.type !== "object") return schema;
  return withoutKeywords(
    schema,
    (keyword, held) =>
      keyword === "$schema" || (keyword === "additionalProperties" && held === false),
  );
}

/** An application's own naming may depend on the output. */
function namesIn(tool: string, input: Json, { naming }: WrapOptions): CallNames {
  const none = { read: [], written: [] };
  return naming === undefined ? { ...none, base: nameForCall(tool, input).base } : none;
}

export interface NamedTool {
  readonly name: string;
  readonly tool: AnyTool;
  readonly options: WrapOptions;
}

/** True: the model may choose the place; a string: that place; false: no place. */
function targetOf(name: string, outputPath: WrapOptions["outputPath"] = false): string | boolean {
  return typeof outputPath === "boolean" ? outputPath : (outputPath[name] ?? false);
}

/** Resolves and validates the input. */
async function inputOf(named: NamedTool, written: Json, making: InputOptions): Promise<CallInput> {
  const { name, tool, options } = named;
  if (tool.execute === undefined) throw notExecutable(name);
  const isValue = making.call.madeOf !== undefined;
  const resolved = isValue
    ? { value: written, unresolved: [] }
    : await resolve(named, written, making);
  const { value, unresolved } = resolved;
  const isReadonly = options.readonlyTools?.includes(name) ?? false;
  const hint = () => misfitHint({ written, value, unresolved }, options);
  const given = await withNumbers(named, value);
  const checked = await checkInput(tool, given, { unresolved, readonly: isReadonly, hint });
  return { ...resolved, checked };
}

/** Returns the input with the numbers that a double does not give back as the tool takes them. */
async function withNumbers({ name, tool, options }: NamedTool, value: Json): Promise<Json> {
  const numbers = options.policies?.[name]?.numbers;
  if (numbers === "raw") return value;
  const schema = await jsonSchemaOf(tool, name);
  const convert = (number: ExactNumber, place: readonly string[]): unknown => {
    const { rawJSON } = number;
    if (numbers === "bigint" && /^-?\d+$/.test(rawJSON)) return BigInt(rawJSON);
    if (numbers === "text" || takesText(schema, place)) return rawJSON;
    const double = printedDouble(number);
    if (double !== undefined) return double;
    const [path, digits] = [place.join("."), clip(rawJSON, 80)];
    const message = `${path} is ${digits}, which a JavaScript number would change, and the tool takes no text there: continue without it. A developer can set numbers: "text" or "bigint" in the tool's policy.`;
    throw new ByrefError("number_not_exact", message, { path, digits });
  };
  // What a tool with BigInts takes is no JSON, and only its schema sees it.
  return mapExactNumbers(value, convert) as Json;
}

function takesText(schema: JSONSchema7, place: readonly string[]): boolean {
  let at: Definition = schema;
  for (const step of place) at = schemaAt(/^\d+$/.test(step) ? Number(step) : step, at, schema);
  return typesIn(at, schema).has("string");
}

function resolve(
  { name, options }: NamedTool,
  written: Json,
  { labels, references, call: { scope, work } }: InputOptions,
): Promise<ResolvedInput> {
  const { store, syntaxes, unknown, owner, policies, textFor } = options;
  const lookup = lookupFor(scope, store, {
    bytes: true,
    hidesUntrusted: options.untrusted === "hide",
    secrets: policies?.[name]?.secrets ?? [],
    onUsed: (used) => {
      labels.add(used);
      if (owner !== undefined) store.holds.hold(owner, used);
    },
  });
  return resolveReferences(written, lookup, {
    ...compact({ syntaxes, unknown, textFor }),
    work,
    // The resolver measures what it reads; the store knows the size of a whole variable.
    onResolved: (source, { value, chars = 0 }) => {
      references.authoredChars += source.length;
      references.resolvedChars += chars;
      references.values.push(value);
    },
    onComposed: () => labels.compose(),
  });
}

/** Runs the tool's own check on the resolved input. An input that the check fails on needs approval. */
async function needsApproval(
  { tool, options }: NamedTool,
  checked: unknown,
  { toolCallId, messages, extras, needsApproval: decides }: CallOptions,
): Promise<boolean> {
  if (decides !== undefined) return decides(checked);
  const { needsApproval: ownCheck } = tool;
  if (typeof ownCheck !== "function") return ownCheck === true;
  try {
    // The SDK types it by the tool's schema.
    const check = ownCheck as (input: unknown, options: unknown) => boolean | PromiseLike<boolean>;
    const context = await contextFor(tool, options.context);
    return await check(checked, {
      toolCallId,
      messages: [...messages],
      context,
      ...extras,
    });
  } catch {
    return true;
  }
}

async function run(
  { name, tool, options }: NamedTool,
  { input, call, labels, places }: PreparedCall,
) {
  const { store, toolMs = limits.toolMs } = options;
  const context = await contextFor(tool, options.context);
  const placing = { target: places, isFixed: labels.isGuarded, store };
  const convert = (returned: unknown) => placedResultOf(returned, placing);
  return runTool({ name, tool, input: input.checked, toolMs, call, context, convert });
}

/** Returns what the tool's `contextSchema` makes of the context; without one, all of it. */
async function contextFor({ contextSchema }: AnyTool, context: unknown): Promise<unknown> {
  if (context === undefined || contextSchema === undefined) return context;
  const checked = await safeValidateTypes({ value: context, schema: contextSchema });
  if (checked.success) return checked.value;
  // The validator's message quotes the context.
  throw new ByrefError("bad_configuration", "The tool's contextSchema refuses who asks.");
}

function notExecutable(name: string): ByrefError {
  const message = `${name} cannot be executed here: it has no execute function.`;
  return new ByrefError("unknown_tool", message);
}
