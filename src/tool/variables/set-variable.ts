import { compact, type Json } from "../../value/json.ts";
import { ByrefError, codeOf } from "../../errors.ts";
import { problemFrom } from "../../reference/reference-problem.ts";
import type { Write, WriteMode } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { readOnly } from "../../store/names.ts";
import { strictestVisibility } from "../../store/labels.ts";
import { isExtension, valueWithin } from "../../store/write-mode.ts";
import { type RuntimeTool, runtimeTool, type RuntimeToolContext } from "../runtime-tool.ts";
import { notExtended } from "../save-target.ts";
import { targetIn, usable } from "./variable-target.ts";
import * as z from "zod";
import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";
import type { Diff } from "../../value/line-diff.ts";
import { isComposed } from "../composed.ts";
import { guardedView } from "../tool-output.ts";
import type { Stage } from "../wrapped-tool.ts";
import { changeConflict, stageAll, type StagedWrites } from "../tool-call.ts";

const NAME = "set_variable";
const MAX_NOTES = 5;
const MAX_NOTE_CHARS = 300;

const parameters = {
  name: z.string().optional(),
  value: z.unknown(),
  mode: z.enum(["replace", "append", "merge", "new"]).optional(),
  description: z.string().optional(),
  ttl: z.number().positive().optional(),
};

// Older versions of Zod let a missing value pass.
const hasValue = ({ value }: { readonly value?: unknown }) => value !== undefined;
const noValue = {
  path: ["value"],
  error: "Invalid input: expected nonoptional, received undefined",
};

const inputSchema = z.object(parameters).refine(hasValue, noValue);
const ofUserSchema = z
  .object({ ...parameters, scope: z.literal("user").optional() })
  .refine(hasValue, noValue);

type Input = z.infer<typeof inputSchema>;

const OF_USER = " scope user: as $user.name, in all conversations of this user.";

/**
 * Saves a variable from the model's text and its references, with the guards of the referenced values. `user`: what the
 * agent may do with the values of who asks.
 */
export function setVariable(user?: "read" | "write"): RuntimeTool {
  const isOfUser = user === "write";
  return runtimeTool({
    name: NAME,
    description: `Save a variable or part: a.b.${isOfUser ? OF_USER : ""}`,
    unlisted: ["description", "ttl"],
    inputSchema: isOfUser ? ofUserSchema : inputSchema,
    offeredFrom: "start",
    writes: ["name"],
    async execute(input, context) {
      if ("scope" in input && input.scope !== undefined)
        return { output: await savedForUser(input, context) };
      // A model's input is JSON.
      const value = input.value as Json;
      const { name, mode = "replace" } = input;
      const isExtended = mode === "append" || mode === "merge";
      if (context.call.saveTo !== undefined && (name === undefined || isExtended))
        return { output: null, value: await resultOf({ name, mode, value }, context) };
      const { save } = await settingOf({ ...writeOf(input), value }, context);
      return { output: save };
    },
  });
}

/** Saves a value of who asks, now: a call that is repeated after a crash writes the same again. */
async function savedForUser(
  input: Input,
  { user, call, labels, resolve }: RuntimeToolContext,
): Promise<Json> {
  if (user?.isWritable !== true) {
    throw new ByrefError("bad_request", "The values of the user cannot be written here.");
  }
  const { mode = "replace" } = input;
  const { name, path } = targetIn(input.name ?? "");
  if (path.length > 0 || mode !== "replace" || call.saveTo !== undefined) {
    const message = "A value of the user is replaced as a whole: write a name without a path.";
    throw new ByrefError("bad_value", message);
  }
  const { value } = await resolve(input.value as Json);
  // Names of this conversation's variables say nothing in another.
  const { madeOf: _madeOf, ...own } = labels.ofResult(NAME);
  const { description, ttlMs } = writeOf(input);
  const json = JSON.stringify(value);
  const about = { name, json, tool: NAME, ...compact({ description, ttlMs }), ...own };
  // No handle: clients and prompts look for those in the conversation.
  const { $var: saved, ...handle } = handleOf(await user.scope.write(about));
  return compact({ saved: `$${String(saved)}`, ...handle });
}

/** Returns the value for the call's place for its result. A variable that it adds to stays as it is. */
async function resultOf(
  { name, mode, value }: { name: string | undefined; mode: WriteMode; value: Json },
  { resolve, lookup, labels }: RuntimeToolContext,
): Promise<Json> {
  const { value: added } = await resolve(value);
  if (name === undefined) return added;
  const found = await lookup(targetIn(name));
  if (!found.found) throw problemFrom(name, found);
  const { value: current } = found;
  const whole = valueWithin(current, [], { mode, value: added });
  if (typeof current === "string" && typeof added === "string") {
    if (await isComposed(whole, [current, added])) labels.compose();
  }
  return whole;
}

/** A value that a model writes, ready to be saved. */
export interface Setting {
  /** The value with references resolved. */
  readonly value: Json;
  /** Saves the value and returns the output for the model. */
  readonly save: Stage<Json>;
}

/** Without a name, the store chooses one. */
type NamedWrite = Write & { readonly name?: string };

export type ModelWrite = NamedWrite & { readonly value: Json };

/** Throws if the variable cannot be written, and the errors of `resolveReferences`. */
export async function settingOf(
  written: ModelWrite,
  context: RuntimeToolContext,
): Promise<Setting> {
  requireWritable(context, written);
  const { value, unresolved } = await context.resolve(written.value);
  const { store, labels: own } = context;
  const { name, path = [] } = written;
  const isAdded = written.mode === "append" && name !== undefined;
  const current = isAdded ? await store.readPath(name, path) : undefined;
  if (current?.found === true && typeof current.value === "string" && typeof value === "string") {
    // Two texts without a URL may form one together.
    if (await isComposed(current.value + value, [current.value, value])) own.compose();
  }
  const labels = context.labels.ofResult(written.tool ?? NAME);
  const { toolCallId } = context.call;
  const write = { ...written, value, toolCallId, keepsVersion: true, ...labels };
  const known = context.labels.isGuarded ? [] : unresolved;
  const notes = known.slice(0, MAX_NOTES).map(({ reference, message, near }) =>
    compact({
      reference: clip(reference, MAX_NOTE_CHARS),
      message: message === undefined ? undefined : clip(message, MAX_NOTE_CHARS),
      near,
    }),
  );
  const shown = (info: VariableInfo) =>
    compact({ ...handleOf(info), unresolved: notes.length > 0 ? notes : undefined });
  return { value, save: () => stageAll(guardedWrite(context, write, shown)) };
}

function writeOf(input: Input): Omit<ModelWrite, "value"> {
  const { mode, description, ttl } = input;
  const ttlMs = ttl === undefined ? undefined : Math.ceil(ttl * 1_000);
  const settings = compact({ mode, description, ttlMs });
  // A repeated call gets another name.
  if (input.name === undefined) return settings;
  const { name, path } = targetIn(input.name);
  // Repeating the call restores a replaced value, but not a value that it was added to.
  const isRepeatable = path.length === 0 && (mode === undefined || mode === "replace");
  return {
    name,
    ...(path.length === 0 ? {} : { path }),
    ...settings,
    ...(isRepeatable ? { tool: NAME, ...keptInput(input) } : {}),
  };
}

/** Returns the input of the call that made a variable, if it is short enough to save with it. */
export function keptInput(input: object): { readonly input?: Json } {
  // The input is JSON; `compact` removes undefined fields.
  const kept = compact(input) as Json;
  return JSON.stringify(kept).length > limits.maxListedInputBytes ? {} : { input: kept };
}

/** Describes the variable for the model, with what has changed. A secret is described by its name only. */
export function handleOf(info: VariableInfo, diff?: Diff): Record<string, Json> {
  const { name, type, count, version } = info;
  return compact({ $var: name, ...(guardedView(info) ?? { type, count, version, ...diff }) });
}

interface Context extends Pick<RuntimeToolContext, "store"> {
  readonly call: Pick<RuntimeToolContext["call"], "isPlanned">;
}

/**
 * Throws `bad_name`, `variable_secret` or `variable_sealed` for a place that a model may
 * not write: a secret, a computed variable, or a part of a guarded one.
 */
export function requireWritable(
  { store, call }: Context,
  write: Pick<NamedWrite, "name" | "path" | "mode">,
): void {
  const { name } = write;
  if (name === "input") {
    throw new ByrefError(
      "bad_name",
      "input is what was asked for: it cannot be written; choose another name.",
    );
  }
  if (name === undefined || store.glance(name) === undefined) return;
  if (store.glance(name)?.readOnly === true) throw readOnly(name);
  const { visibility } = usable(store, name);
  const isAdded = visibility !== "model" && isExtension({ ...write, value: null });
  if (isAdded && call.isPlanned !== true) throw notExtended(name);
}

/**
 * Saves a value under a name of the model's choice; made anew each time that it is staged. The variable keeps its
 * visibility when its value is replaced. Of a guarded value, an error has the code only.
 */
export function guardedWrite(
  context: Context,
  write: NamedWrite,
  shown: (info: VariableInfo) => Json,
): StagedWrites<Json> {
  const { store } = context;
  const { name } = write;
  // The current variable may become more guarded before it is replaced.
  const visibilityNow = () => {
    const current = name === undefined ? undefined : store.glance(name)?.visibility;
    return strictestVisibility([current ?? "model", write.visibility ?? "model"]);
  };
  const visibility = visibilityNow();
  return {
    store,
    writes: [{ ...write, visibility }],
    check: () => {
      requireWritable(context, write);
      if (visibilityNow() !== visibility) throw changeConflict();
    },
    onSaved: ([info]) => (info === undefined ? null : shown(info)),
    onRefused: (error) => {
      const code = codeOf(error);
      if (visibility === "model" || code === "internal") throw error;
      const message = `What was written to $${name} could not be saved, and is guarded.`;
      throw new ByrefError(code, message);
    },
  };
}
