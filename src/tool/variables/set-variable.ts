import { compact, type Json } from "../../value/json.ts";
import { ByrefError, codeOf } from "../../errors.ts";
import type { Write } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { guardOf } from "../../store/labels.ts";
import { isExtension } from "../../store/write-mode.ts";
import { runtimeTool, type RuntimeToolContext } from "../runtime-tool.ts";
import { notExtended } from "../save-target.ts";
import { targetIn, usable } from "./variable-target.ts";
import * as z from "zod";
import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";
import { isComposed } from "../composed.ts";
import { guardedView } from "../tool-output.ts";
import { failedWrite, failureFlags, failureReport, hidesFailure, isFailure } from "../policy.ts";
import { type Prepare, savingAll } from "../prepared-save.ts";

const NAME = "set_variable";
const MAX_NOTES = 5;
const MAX_NOTE_CHARS = 300;

const inputSchema = z.object({
  name: z.string().describe("e.g. report.summary"),
  value: z.unknown().describe("References become their values"),
  mode: z.enum(["replace", "append", "merge", "new"]).optional(),
  description: z.string().optional(),
  ttl: z.number().positive().optional().describe("Seconds"),
});

/** A variable made of what the model writes and of what it refers to, guarded as that is. */
export const setVariable = runtimeTool({
  name: NAME,
  description: "Save or change a variable.",
  inputSchema,
  async execute(input, context) {
    // A model's input arrives as JSON.
    const value = input.value as Json;
    const { save } = await settingOf({ ...writeOf(input), value }, context);
    return { output: save };
  },
});

/** What a model writes, ready to be saved. */
export interface Setting {
  /** With the values in place of their references. */
  readonly value: Json;
  /** True if the value reports why the references have none. */
  readonly isFailure: boolean;
  /** Gives what the model is told of the variable. */
  readonly save: Prepare<Json>;
}

export type ModelWrite = Write & { readonly name: string; readonly value: Json };

/** Throws where nothing may be written, and as `resolveReferences` does. */
export async function settingOf(
  written: ModelWrite,
  context: RuntimeToolContext,
): Promise<Setting> {
  requireWritable(context, written);
  const { value, unresolved, failed } = await resolved(written.value, context);
  const { store, labels: own } = context;
  const there =
    written.mode === "append" ? await store.readPath(written.name, written.path ?? []) : undefined;
  if (there?.found === true && typeof there.value === "string" && typeof value === "string") {
    // Two texts, neither of which is a URL, may be one together.
    if (await isComposed(there.value + value, [there.value, value])) own.compose();
  }
  const labels = context.labels.ofResult(written.tool ?? NAME);
  const { toolCallId } = context.call;
  const flags = failed ? failureFlags(labels.flags) : {};
  const write = { ...written, value, toolCallId, ...labels, ...flags };
  const known = context.labels.isGuarded ? [] : unresolved;
  const notes = known.slice(0, MAX_NOTES).map(({ reference, message, near }) =>
    compact({
      reference: clip(reference, MAX_NOTE_CHARS),
      message: message === undefined ? undefined : clip(message, MAX_NOTE_CHARS),
      near,
    }),
  );
  const save = savingGuarded(context, write, (info) =>
    compact({ ...handleOf(info), unresolved: notes.length > 0 ? notes : undefined }),
  );
  return { value, isFailure: failed, save };
}

async function resolved(value: Json, { resolve, labels, call }: RuntimeToolContext) {
  try {
    return { ...(await resolve(value)), failed: false };
  } catch (error) {
    if (!hidesFailure(labels, call)) throw error;
    return { value: failureReport(error), unresolved: [], failed: true };
  }
}

function writeOf(input: z.infer<typeof inputSchema>): Omit<ModelWrite, "value"> {
  const { mode, description, ttl } = input;
  const { name, path } = targetIn(input.name);
  // The same call again brings back what it replaced, not what it added to.
  const isRepeatable = path.length === 0 && (mode === undefined || mode === "replace");
  return {
    name,
    ...(path.length === 0 ? {} : { path }),
    ...compact({ mode, description }),
    ...(ttl === undefined ? {} : { ttlMs: Math.ceil(ttl * 1_000) }),
    ...(isRepeatable ? { tool: NAME, ...keptInput(input) } : {}),
  };
}

/** The input of the call that made a variable, if it is short enough to be kept beside it. */
export function keptInput(input: object): { readonly input?: Json } {
  // As above: JSON, and without what is undefined in it.
  const kept = compact(input) as Json;
  return JSON.stringify(kept).length > limits.maxListedInputBytes ? {} : { input: kept };
}

/** What is told of the variable: of a secret that it is there. */
function handleOf(info: VariableInfo): Record<string, Json> {
  const { name, type, count, version } = info;
  return compact({ $var: name, ...(guardedView(info) ?? { type, count, version }) });
}

type Context = Pick<RuntimeToolContext, "store" | "call">;
type NamedWrite = Write & { readonly name: string };

/**
 * Throws `bad_name`, `variable_secret` or `variable_sealed` for what a model may not write: a secret, or a
 * part of a guarded variable.
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
  if (store.glance(name) === undefined) return;
  const { visibility } = usable(store, name);
  const isAdded = visibility !== "model" && isExtension({ ...write, value: null });
  if (isAdded && call.isPlanned !== true) throw notExtended(name);
}

/**
 * Saves a value under a name that a model has chosen. The variable keeps its guard, whatever replaces its
 * value. If a guarded value does not fit, a variable that reports the failure to people takes its place.
 */
export function savingGuarded(
  context: Context,
  write: NamedWrite,
  shown: (info: VariableInfo) => Json,
): Prepare<Json> {
  const { store, call } = context;
  const { name, mode } = write;
  // What is there may become more guarded until it is replaced.
  const guarded = (one: Write) => {
    const guards = [store.glance(name)?.visibility, one.visibility];
    return { ...one, visibility: guardOf(guards.filter((guard) => guard !== undefined)) };
  };
  return savingAll<Json>(store, [write], {
    check: () => requireWritable(context, write),
    guard: guarded,
    kept: ([info]) => (info === undefined ? null : shown(info)),
    refused: (error, [current = write]) => {
      const code = codeOf(error);
      if (current.visibility === "model" || code === "internal") throw error;
      const isOfValue = code === "limit_exceeded" || mode === "append" || mode === "merge";
      if (isOfValue && call.isPlanned !== true && !isFailure(current)) {
        return { writes: [failedWrite(current, error)] };
      }
      throw new ByrefError(
        code,
        `What was written to $${name} could not be saved, and is guarded.`,
      );
    },
  });
}
