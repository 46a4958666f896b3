import type { Syntax } from "../../reference/reference.ts";
import * as z from "zod";
import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Json } from "../../value/json.ts";
import type { PatchOperation } from "../../value/json-patch.ts";
import { renderText } from "../../value/render.ts";
import { lineEndOf, type Replacement, withLineEnds } from "../../value/text-edit.ts";
import type { RuntimeToolContext } from "../runtime-tool.ts";
import { halfAt } from "../../value/well-formed.ts";
import { anyJson, anyJsonObject, issuesOf } from "../tool-input.ts";
import type { Target } from "../variables/variable-target.ts";

const edit = z.strictObject({
  find: z.string().optional(),
  replace: z.string().optional(),
  all: z.boolean().optional(),
  op: z.enum(["add", "remove", "replace", "move", "copy", "test"]).optional(),
  path: z.string().optional(),
  from: z.string().optional(),
  value: anyJson.optional(),
  where: z.string().optional(),
  set: anyJsonObject.optional(),
});

/** An edit as a model writes it: of text, an operation of a JSON Patch, or of records. */
export type Edit = z.infer<typeof edit>;

/** Parses edits. Models may write one without its list. Throws `invalid_tool_input`. */
export function editsIn(written: unknown): "undo" | readonly Edit[] {
  if (written === "undo") return written;
  const { data, error } = z.array(edit).safeParse(Array.isArray(written) ? written : [written]);
  if (data !== undefined) return data;
  const issues = issuesOf(error).map(({ path, message }) => `edits.${path.join(".")}: ${message}`);
  throw new ByrefError("invalid_tool_input", `${issues.join("; ")}. ${FORMS}`);
}

const FORMS =
  "All edits of a call are {find, replace, all?}, or operations of a JSON Patch, or {where, set}.";

/** Edits with values in place of their references. */
export type ResolvedEdits =
  | { readonly kind: "text"; readonly replacements: readonly Replacement[] }
  | { readonly kind: "json"; readonly operations: readonly PatchOperation[] }
  | ResolvedChanges;

/** Edits of records by conditions in SQL. They use queries, so applications without queries do not load them. */
export interface RecordEdits {
  /**
   * Reads the conditions of edits, and resolves references in them and in the values. Throws
   * `invalid_tool_input`, `bad_query`, `query_not_allowed`, `variable_sealed`, and the errors of references.
   */
  resolve(
    edits: readonly Edit[],
    of: { readonly target: Target; readonly context: RuntimeToolContext },
  ): Promise<ResolvedChanges>;
  /** Returns the variables that a condition reads as tables. */
  tablesIn(where: string, syntaxes: readonly Syntax[]): readonly string[];
}

export interface ResolvedChanges {
  readonly kind: "records";
  /** The number of edits. */
  readonly count: number;
  /**
   * Returns the records after all edits, in order: each sees what those before it have made. Unchanged records
   * are shared with the given ones. Throws `bad_value` if they are no records, `edit_not_found` if a condition
   * is true for none, `limit_exceeded` if they would grow beyond `maxJsonBytes`, and the errors of queries.
   */
  apply(before: Json): Promise<Json>;
}

type Resolving = Pick<RuntimeToolContext, "resolve" | "labels">;

interface Editing {
  readonly context: RuntimeToolContext;
  readonly target: Target;
  /** Undefined where there are no queries. */
  readonly records: RecordEdits | undefined;
  /** Returns the first line end of the text at the target. */
  readonly lineEnd: () => Promise<string | undefined>;
}

/**
 * Resolves the references in edits. A model searches no guarded values: what is searched or tested cannot be
 * one. Throws `invalid_tool_input`,
 * `variable_sealed`, `limit_exceeded`, `not_configured` and the errors of `resolveReferences` and of queries.
 */
export async function resolvedEdits(
  edits: readonly Edit[],
  editing: Editing,
): Promise<ResolvedEdits> {
  requireAtMost(["maxBatchItems", limits.maxBatchItems], edits.length, "Make several calls.");
  const { context } = editing;
  const [first] = edits;
  if (first === undefined) throw new ByrefError("invalid_tool_input", `edits is empty. ${FORMS}`);
  if (first.where !== undefined) {
    if (editing.records !== undefined) return editing.records.resolve(edits, editing);
    throw new ByrefError("not_configured", NO_QUERIES);
  }
  return first.find === undefined ? operationsOf(edits, context) : replacementsOf(edits, editing);
}

async function replacementsOf(
  edits: readonly Edit[],
  { context, lineEnd }: Editing,
): Promise<ResolvedEdits> {
  const found: string[] = [];
  for (const [index, { find, replace }] of edits.entries()) {
    if (find === undefined || replace === undefined) throw incomplete(index, "find and replace");
    const text = renderText(await searched(find, context));
    if (text === "") throw incomplete(index, "a text to find");
    requireWhole(text, index, "find");
    found.push(text);
  }
  const hasLines = edits.some(({ replace = "" }) => replace.includes("\n"));
  const textLineEnd = hasLines ? await lineEnd() : undefined;
  const replacements: Replacement[] = [];
  for (const [index, { replace: written = "", all = false }] of edits.entries()) {
    const find = found[index] ?? "";
    // Code passes values, which stay as they are, like those of references.
    const isValue = context.call.madeOf !== undefined;
    const text = isValue ? written : withLineEnds(written, find, lineEndOf(find) ?? textLineEnd);
    const replace = renderText((await context.resolve(text)).value);
    requireWhole(replace, index, "replace");
    replacements.push({ find, replace, all });
  }
  return { kind: "text", replacements };
}

/** A lone surrogate matches half of an emoji, and cannot be stored in a text. */
function requireWhole(text: string, index: number, part: string): void {
  const at = halfAt(text);
  if (at === undefined) return;
  const message = `Edit ${index + 1}: ${part} has half of a character (a lone surrogate), as its character ${at}. Write the whole character.`;
  throw new ByrefError("invalid_tool_input", message);
}

async function operationsOf(edits: readonly Edit[], context: Resolving): Promise<ResolvedEdits> {
  const tested: Json[] = [];
  for (const { op, value = null } of edits) {
    tested.push(op === "test" ? await searched(value, context) : null);
  }
  const operations: PatchOperation[] = [];
  for (const [index, edit] of edits.entries()) {
    const { op, path, from, value: written } = edit;
    if (op === undefined || path === undefined) throw incomplete(index, "op and path");
    if (op === "remove") operations.push({ op, path });
    else if (op === "move" || op === "copy") {
      if (from === undefined) throw incomplete(index, "from");
      operations.push({ op, path, from });
    } else {
      if (written === undefined) throw incomplete(index, "a value");
      if (op === "test") operations.push({ op, path, value: tested[index] ?? null });
      else {
        operations.push({ op, path, value: (await context.resolve(written)).value });
      }
    }
  }
  return { kind: "json", operations };
}

const NO_QUERIES =
  "{where, set} needs queries, which are not configured (docs/guides/queries.md). Use a JSON Patch: [{op, path, value}].";

/** Resolves what is compared with the variable. */
async function searched(written: Json, { resolve, labels }: Resolving): Promise<Json> {
  try {
    const { value } = await resolve(written);
    if (!labels.isGuarded) return value;
  } catch (error) {
    if (!labels.isGuarded) throw error;
  }
  const message = "A guarded value cannot be searched for, or tested: the result would reveal it.";
  throw new ByrefError("variable_sealed", message);
}

export function incomplete(index: number, missing: string): ByrefError {
  const message = `Edit ${index + 1} needs ${missing}. ${FORMS}`;
  return new ByrefError("invalid_tool_input", message);
}
