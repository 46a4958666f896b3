import * as z from "zod";
import { ByrefError, requireAtMost } from "../../errors.ts";
import type { Variables } from "../../store/variable-store.ts";
import type { OpenValue } from "../../store/variable.ts";
import { isObject, type Json, jsonIn } from "../../value/json.ts";
import { change, stageAll } from "../tool-call.ts";
import type { Stage } from "../wrapped-tool.ts";
import {
  type RuntimeResult,
  type RuntimeTool,
  runtimeTool,
  type RuntimeToolContext,
} from "../runtime-tool.ts";
import { guardedWrite, handleOf, keptInput, requireWritable } from "../variables/set-variable.ts";
import { readable, type Target, targetIn, referenceTo } from "../variables/variable-target.ts";
import * as limits from "../../limits.ts";
import { type Content, TEXT_TYPE } from "../../store/bytes/content.ts";
import { streamOf } from "../../value/bytes.ts";
import { patchJson, type PatchOperation } from "../../value/json-patch.ts";
import { charsOf } from "../../value/json-text.ts";
import { type Diff, diffOfJson, LineDiff } from "../../value/line-diff.ts";
import {
  editWork,
  lineEndOf,
  type Replacement,
  TextEdit,
  withLineEnds,
} from "../../value/text-edit.ts";
import { readValue } from "../store-lookup.ts";
import { clip, codePointCount, slicesOf } from "../../value/characters.ts";
import { findFolded } from "../../value/folded-text.ts";
import { Breaks, nextTask } from "../../value/next-task.ts";
import { isComposed } from "../composed.ts";
import type { Syntax } from "../../reference/reference.ts";
import { renderText } from "../../value/render.ts";
import { halfAt } from "../../value/well-formed.ts";
import { anyJson, anyJsonObject, issuesOf } from "../tool-input.ts";

const NAME = "edit_variable";

const TEXT = "Edit text: [{find, replace, all?}]; JSON: JSON Patch; or `undo`";
const RECORDS = "; records: [{where, set}], where in SQL";

const inputSchema = z.object({
  name: z.string(),
  edits: z.unknown(),
  saveAs: z.string().optional(),
});

type Input = z.infer<typeof inputSchema>;

/**
 * Changes a variable in place, or saves the changed value under another name or at the call's place for its result.
 * Edits of records need `records`.
 */
export function editVariable(records?: RecordEdits): RuntimeTool {
  return runtimeTool({
    name: NAME,
    description: `${TEXT}${records === undefined ? "" : RECORDS}.`,
    inputSchema,
    offeredFrom: "text",
    unlisted: ["saveAs"],
    writes: ["name", "saveAs"],
    // The edits may not be valid.
    reads: ({ edits }, syntaxes) =>
      listedEdits(edits).flatMap((one) => {
        const where = isObject(one) ? one["where"] : undefined;
        return typeof where === "string" ? (records?.tablesIn(where, syntaxes) ?? []) : [];
      }),
    execute: (input, context) => edit(input, context, records),
  });
}

async function edit(
  input: Input,
  context: RuntimeToolContext,
  records: RecordEdits | undefined,
): Promise<RuntimeResult> {
  const { store, labels, hidesUntrusted, call } = context;
  const from = targetIn(input.name);
  const info = readable(store, from.name);
  const place = input.saveAs === undefined ? from : targetIn(input.saveAs);
  const isResult = call.saveTo !== undefined && input.saveAs === undefined;
  if (!isResult) requireWritable(context, place);
  labels.add(from.name);
  const edits = editsIn(input.edits);
  if (edits === "undo") return { output: undo(from, input, context) };
  const resolved = await resolvedEdits(edits, { context, target: from }, records);
  const isInPlace = input.saveAs === undefined;
  // A variable that the model can read would become guarded.
  if (labels.isGuarded && isInPlace && !isResult) {
    const message = "The edits contain a guarded value: give saveAs, the name for the result.";
    throw new ByrefError("variable_sealed", message);
  }
  const isPart = isResult || place.path.length > 0;
  const edited = await editedValue(from, { store, edits: resolved, isPart });
  if (edited.isComposed) labels.compose();
  const { value, diff } = edited;
  // A result is made in memory.
  if (isResult) return { output: null, value: value as Json };
  // The difference contains what was put in.
  const isUntrusted = labels.hasUntrusted;
  const isHidden = labels.isGuarded || (hidesUntrusted && isUntrusted);
  const shownDiff = isHidden ? undefined : diff;
  const write = {
    ...place,
    value,
    toolCallId: call.toolCallId,
    keepsMetadata: isInPlace,
    keepsVersion: true,
    // Repeating an edit in place does not restore the variable.
    ...(isInPlace ? {} : { tool: NAME, ...keptInput(input) }),
    ...labels.ofResult(NAME),
  };
  const stage = () => {
    const save = guardedWrite(context, write, (saved) => handleOf(saved, shownDiff));
    const check = () => {
      save.check();
      if (!isInPlace || store.glance(info.name)?.version === info.version) return;
      const message = `$${info.name} changed in the meantime; edit it again.`;
      throw new ByrefError("edit_conflict", message);
    };
    return stageAll({ ...save, check });
  };
  return { output: stage, untrusted: isUntrusted && shownDiff !== undefined };
}

/** Restores the version before the last change. */
function undo(
  { name, path }: Target,
  { saveAs }: Input,
  { store }: RuntimeToolContext,
): Stage<Json> {
  if (path.length > 0 || saveAs !== undefined) {
    throw new ByrefError("invalid_tool_input", "undo restores a whole variable, in place.");
  }
  return async () =>
    change(() => {
      readable(store, name);
      const info = store.undo(name);
      if (info !== undefined) return handleOf(info);
      throw new ByrefError(
        "edit_conflict",
        `No earlier version of $${name} is kept. Read it with read_variable, then edit it as it is.`,
      );
    });
}

/** The value after edits. */
interface Edited {
  readonly value: Json | Content;
  readonly diff: Diff;
  /** True if an edit has put a URL together. */
  readonly isComposed: boolean;
}

interface Editing {
  readonly store: Variables;
  readonly edits: ResolvedEdits;
  /** True if the result becomes a part of another value. It is then in memory. */
  readonly isPart: boolean;
}

/**
 * Applies edits to the value at a place. A whole text is edited while it streams into the store, up to
 * `maxValueBytes`. Throws the errors of the edits, and `bad_value` for a value of another type.
 */
async function editedValue(target: Target, editing: Editing): Promise<Edited> {
  const { store, edits, isPart } = editing;
  if (edits.kind === "text") return editedText(target, edits.edits, { store, isPart });
  const before = await valueAt(store, target);
  if (edits.kind === "json") return patchedValue(before, edits.edits);
  const chars = charsOf(before, limits.maxJsonBytes);
  editWork(chars).read.spend(edits.count * chars);
  return compared(before, await edits.apply(before));
}

async function editedText(
  target: Target,
  replacements: readonly Replacement[],
  { store, isPart }: Omit<Editing, "edits">,
): Promise<Edited> {
  const open = target.path.length === 0 ? openText(store, target) : undefined;
  try {
    const text = open === undefined ? await valueAt(store, target) : "";
    if (typeof text !== "string") {
      const message = `${referenceTo(target)} is not a text. Change it with a JSON Patch: [{op, path, value}].`;
      throw new ByrefError("bad_value", message);
    }
    const read = () => (open === undefined ? slicesOf(text, PART_BYTES) : piecesOf(open));
    const edited = new EditedText(read, open?.info.chars ?? text.length, replacements);
    // UTF-8 has no lone surrogates.
    const isInMemory = isPart || !text.isWellFormed();
    const value = isInMemory
      ? await joined(edited)
      : await store.receive(streamOf(encoded(edited.text())), TEXT_TYPE);
    return { value, diff: edited.diff(), isComposed: await edited.isComposed() };
  } finally {
    open?.close();
  }
}

async function joined(edited: EditedText): Promise<string> {
  const texts: string[] = [];
  let chars = 0;
  for await (const text of edited.text()) {
    chars += text.length;
    requireAtMost(["maxJsonBytes", limits.maxJsonBytes], chars, SMALLER);
    texts.push(text);
  }
  return texts.join("");
}

/** No piece ends with half of a character: texts to find and to put in are whole, and so are the pieces that are read. */
async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
  return undefined;
}

/** Bytes that are read at once. */
const PART_BYTES = 262_144;

async function* piecesOf(open: OpenValue): AsyncGenerator<string> {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const { bytes } = open.info;
  for (let from = 0; from < bytes; from += PART_BYTES) {
    const part = await open.read(from, Math.min(from + PART_BYTES, bytes));
    yield utf8.decode(part, { stream: true });
  }
}

/** Returns the first line end of a text, if there is one in its first part. */
async function lineEndIn(store: Variables, { name, path }: Target): Promise<string | undefined> {
  const start = await store.readPath(name, [...path, { from: 0, to: PART_BYTES }]);
  return start?.found === true && typeof start.value === "string"
    ? lineEndOf(start.value)
    : undefined;
}

/** Opens a text that is stored as UTF-8. */
function openText(store: Variables, { name }: Target): OpenValue | undefined {
  const open = store.open(name);
  if (open?.info.mediaType === TEXT_TYPE) return open;
  open?.close();
  return undefined;
}

const SMALLER = "Make the value smaller.";

function valueAt(store: Variables, target: Target): Promise<Json> {
  return readValue(store, target, { hidesUntrusted: true });
}

function patchedValue(before: Json, operations: readonly PatchOperation[]): Edited {
  const isReading = ({ op }: PatchOperation) => op === "copy" || op === "test";
  let chars = operations.some(isReading) ? charsOf(before, limits.maxJsonBytes) : 0;
  const work = editWork(chars);
  for (const operation of operations) {
    // A value in many places is one in memory, and many in the result.
    if ("value" in operation) work.added.spend(charsOf(operation.value, limits.maxJsonBytes));
  }
  const after = patchJson(before, operations, {
    spend: (copied) => work.read.spend(copied),
    check(value, operation) {
      if (!isReading(operation)) return;
      // Copies of copies grow exponentially, and share their parts in memory.
      if (operation.op === "copy") chars = charsOf(value, limits.maxJsonBytes);
      requireAtMost(["maxJsonBytes", limits.maxJsonBytes], chars, SMALLER);
      work.read.spend(operation.op === "copy" ? COPY_COST * chars : chars);
    },
  });
  return compared(before, after);
}

/** Cost of a character of the value when a part is copied: the whole is measured again. */
const COPY_COST = 8;

function compared(before: Json, value: Json): Edited {
  return { value, diff: diffOfJson(before, value, limits.maxDiffLines), isComposed: false };
}

/** Returns a text in pieces; each call begins anew. */
type ReadText = () => AsyncIterable<string> | Iterable<string>;

/** A text that is edited while it is read. */
export class EditedText {
  readonly #read: ReadText;
  readonly #chars: number;
  readonly #replacements: readonly Replacement[];
  readonly #diff = new LineDiff(limits.maxDiffLines);
  /** The text before and after; undefined once it is too long to be searched for URLs. */
  #forUrls: { before: string; after: string } | undefined = { before: "", after: "" };

  /** `chars`: the length of the text. */
  constructor(read: ReadText, chars: number, replacements: readonly Replacement[]) {
    this.#read = read;
    this.#chars = chars;
    this.#replacements = replacements;
  }

  /**
   * Returns the text after all edits. Throws `limit_exceeded`, and `edit_not_found` or `edit_ambiguous` at its end.
   */
  async *text(): AsyncGenerator<string, undefined> {
    const work = editWork(this.#chars);
    const breaks = new Breaks();
    let read = 0;
    const edits = this.#replacements.map((replacement) => new TextEdit(replacement, work));
    for await (const text of this.#read()) {
      yield this.#noted(
        text,
        edits.reduce((made, edit) => edit.write(made), text),
      );
      read += text.length * (edits.length + 1);
      if (breaks.areDue(read)) await nextTask();
    }
    yield this.#noted(
      "",
      edits.reduce((made, edit) => edit.write(made) + edit.end(), ""),
    );
    for (const [index, edit] of edits.entries()) {
      const { all = false } = this.#replacements[index] ?? {};
      if (edit.count === 0) throw await this.#notFound(index);
      if (edit.count > 1 && !all) throw this.#ambiguous(index, edit);
    }
    return undefined;
  }

  /** Call it once, after the text was read. */
  diff(): Diff {
    return this.#diff.end();
  }

  /** True if the text has a URL that was put together, or is too long to know. Call it after the text was read. */
  async isComposed(): Promise<boolean> {
    const added = this.#replacements.map(({ replace }) => replace);
    const texts = this.#forUrls;
    return texts === undefined || isComposed(texts.after, [texts.before, ...added]);
  }

  #noted(text: string, made: string): string {
    this.#diff.add(text, made);
    const texts = this.#forUrls;
    if (texts === undefined) return made;
    texts.before += text;
    texts.after += made;
    const chars = Math.max(texts.before.length, texts.after.length);
    if (chars > MAX_SEARCHED_CHARS) this.#forUrls = undefined;
    return made;
  }

  async #notFound(index: number): Promise<ByrefError> {
    const { find = "" } = this.#replacements[index] ?? {};
    // The text that the edit has searched.
    const edited = new EditedText(this.#read, this.#chars, this.#replacements.slice(0, index));
    let text = "";
    for await (const piece of edited.text()) {
      text += piece;
      if (text.length > MAX_SEARCHED_CHARS) break;
    }
    const start = `Edit ${index + 1} finds no ${quoted(find)}.`;
    const match = findFolded(text, find);
    if (match !== undefined) {
      const place = placeOf(text, match.at);
      const forms = `the text has ${form(match.text)}, find has ${form(match.wanted)}`;
      const message = `${start} It differs in ${match.kinds.join(" and ")} only: at line ${place.line}, column ${place.column} ${forms}. Write find as in the text.`;
      const difference = { ...place, text: match.text, find: match.wanted, kinds: match.kinds };
      return new ByrefError("edit_not_found", message, { edit: index, difference });
    }
    const near = nearestLine(text, find);
    const hint =
      near === undefined
        ? " Read it with read_variable."
        : ` The nearest is line ${near.line}: ${near.text}`;
    const message = `${start} It must be exactly as in the text.${hint}`;
    return new ByrefError("edit_not_found", message, { edit: index, near });
  }

  #ambiguous(index: number, { count, lines }: TextEdit): ByrefError {
    const { find = "" } = this.#replacements[index] ?? {};
    const more = count > lines.length ? " …" : "";
    const message = `Edit ${index + 1} finds ${quoted(find)} ${count} times, in the lines ${lines.join(", ")}${more}. Add text around it, or set all.`;
    return new ByrefError("edit_ambiguous", message, { edit: index, count, lines });
  }
}

function quoted(text: string): string {
  return JSON.stringify(clip(text, 80));
}

/** A text as a model may write it in JSON, with escapes for all characters that may look like others. */
function form(text: string): string {
  const escaped = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(clip(text, 40)).replaceAll(/[^ -~]/g, escaped);
}

/** Line and column, from 1. */
function placeOf(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: codePointCount(before.at(-1) ?? "") + 1 };
}

/** Text in which the nearest line is searched, and the part of a line that is compared at once. */
const MAX_SEARCHED_CHARS = 1_048_576;
const PART_CHARS = 200;
/** The share of the wanted text that a line must contain. */
const MIN_SHARE = 0.4;

interface NearLine {
  readonly line: number;
  readonly text: string;
}

/** Returns the line that has most of the wanted text's triples of characters. */
function nearestLine(text: string, wanted: string): NearLine | undefined {
  const first = wanted.split("\n").find((line) => line.trim() !== "") ?? "";
  const triples = [...triplesOf(first.trim().slice(0, PART_CHARS))];
  let most = MIN_SHARE * triples.length;
  let nearest: NearLine | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    for (const part of slicesOf(line, PART_CHARS)) {
      const inPart = triplesOf(part);
      const common = triples.filter((triple) => inPart.has(triple)).length;
      if (common <= most) continue;
      most = common;
      nearest = { line: index + 1, text: part.trim().toWellFormed() };
    }
  }
  return nearest;
}

function triplesOf(text: string): ReadonlySet<string> {
  const lower = text.toLowerCase();
  const triples = new Set<string>();
  for (let at = 0; at < Math.max(lower.length - 2, 1); at++) triples.add(lower.slice(at, at + 3));
  return triples;
}

const replacement = z.strictObject({
  find: z.string(),
  replace: z.string(),
  all: z.boolean().default(false),
});

/** Models write members that an operation does not need. */
const operation = z.discriminatedUnion("op", [
  z.object({ op: z.enum(["add", "replace", "test"]), path: z.string(), value: anyJson }),
  z.object({ op: z.enum(["move", "copy"]), path: z.string(), from: z.string() }),
  z.object({ op: z.literal("remove"), path: z.string() }),
]);

const recordEdit = z.strictObject({ where: z.string(), set: anyJsonObject });

/** A change of the records for which a condition in SQL is true. */
export type RecordEdit = z.infer<typeof recordEdit>;

/** The edits of a call as a model writes them, all in one form. */
type Edits =
  | { readonly kind: "text"; readonly edits: readonly Replacement[] }
  | { readonly kind: "json"; readonly edits: readonly PatchOperation[] }
  | { readonly kind: "records"; readonly edits: readonly RecordEdit[] };

/** Edits that are not checked yet. Models may write one without its list, or all in quotes. */
function listedEdits(written: unknown): readonly unknown[] {
  const edits = typeof written === "string" ? (jsonIn(written) ?? written) : written;
  return Array.isArray(edits) ? edits : [edits];
}

/** Parses edits, whose form is that of the first. Throws `invalid_tool_input` or `limit_exceeded`. */
function editsIn(written: unknown): "undo" | Edits {
  if (written === "undo") return written;
  const listed = listedEdits(written);
  const [first] = listed;
  if (first === undefined) throw new ByrefError("invalid_tool_input", `edits is empty. ${FORMS}`);
  requireAtMost(["maxBatchItems", limits.maxBatchItems], listed.length, "Make several calls.");
  const has = (key: string) => isObject(first) && key in first;
  if (has("where")) return { kind: "records", edits: parsed(recordEdit, listed) };
  if (has("find")) return { kind: "text", edits: parsed(replacement, listed) };
  return { kind: "json", edits: parsed(operation, listed) };
}

function parsed<Edit>(form: z.ZodType<Edit>, listed: readonly unknown[]): readonly Edit[] {
  const { data, error } = z.array(form).safeParse(listed);
  if (data !== undefined) return data;
  const issues = issuesOf(error).map(({ path, message }) => `edits.${path.join(".")}: ${message}`);
  throw new ByrefError("invalid_tool_input", `${issues.join("; ")}. ${FORMS}`);
}

const FORMS =
  "All edits of a call are {find, replace, all?}, or operations of a JSON Patch, or {where, set}.";

/** Edits with values in place of their references. */
type ResolvedEdits = Exclude<Edits, { readonly kind: "records" }> | ResolvedChanges;

interface ResolvingEdits {
  readonly target: Target;
  readonly context: RuntimeToolContext;
}

/** Edits of records by conditions in SQL. They use queries, so applications without queries do not load them. */
export interface RecordEdits {
  /**
   * Reads the conditions of edits, and resolves references in them and in the values. Throws
   * `invalid_tool_input`, `bad_query`, `query_not_allowed`, `variable_sealed`, and the errors of references.
   */
  resolve(edits: readonly RecordEdit[], of: ResolvingEdits): Promise<ResolvedChanges>;
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

/**
 * Resolves the references in edits. A model searches no guarded values: what is searched or tested cannot be
 * one. `records`: undefined where there are no queries. Throws `invalid_tool_input`, `variable_sealed`,
 * `limit_exceeded`, `not_configured` and the errors of `resolveReferences` and of queries.
 */
async function resolvedEdits(
  written: Edits,
  of: ResolvingEdits,
  records: RecordEdits | undefined,
): Promise<ResolvedEdits> {
  if (written.kind === "text") return replacementsOf(written.edits, of);
  if (written.kind === "json") return operationsOf(written.edits, of.context);
  if (records === undefined) throw new ByrefError("not_configured", NO_QUERIES);
  return records.resolve(written.edits, of);
}

async function replacementsOf(
  edits: readonly Replacement[],
  { context, target }: ResolvingEdits,
): Promise<ResolvedEdits> {
  const found: string[] = [];
  for (const [index, { find }] of edits.entries()) {
    const text = renderText(await searched(find, context));
    if (text === "") throw invalid(index, "needs a text to find");
    requireWhole(text, index, "find");
    found.push(text);
  }
  const hasLines = edits.some(({ replace }) => replace.includes("\n"));
  const textLineEnd = hasLines ? await lineEndIn(context.store, target) : undefined;
  const replacements: Replacement[] = [];
  for (const [index, { replace: written, all = false }] of edits.entries()) {
    const find = found[index] ?? "";
    // Code passes values, which stay as they are, like those of references.
    const isValue = context.call.madeOf !== undefined;
    const text = isValue ? written : withLineEnds(written, find, lineEndOf(find) ?? textLineEnd);
    const replace = renderText((await context.resolve(text)).value);
    requireWhole(replace, index, "replace");
    replacements.push({ find, replace, all });
  }
  return { kind: "text", edits: replacements };
}

/** A lone surrogate matches half of an emoji, and cannot be stored in a text. */
function requireWhole(text: string, index: number, part: string): void {
  const at = halfAt(text);
  if (at === undefined) return;
  const what = `${part} has half of a character (a lone surrogate), as its character ${at}`;
  throw invalid(index, `${what}. Write the whole character`);
}

function invalid(index: number, what: string): ByrefError {
  return new ByrefError("invalid_tool_input", `Edit ${index + 1}: ${what}.`);
}

/** Resolves all that is tested first: none of it may be compared with what is guarded. */
async function operationsOf(
  written: readonly PatchOperation[],
  context: RuntimeToolContext,
): Promise<ResolvedEdits> {
  const operations = [...written];
  for (const [index, one] of written.entries()) {
    if (one.op === "test")
      operations[index] = { ...one, value: await searched(one.value, context) };
  }
  for (const [index, one] of written.entries()) {
    if (one.op === "add" || one.op === "replace")
      operations[index] = { ...one, value: (await context.resolve(one.value)).value };
  }
  return { kind: "json", edits: operations };
}

const NO_QUERIES =
  "{where, set} needs queries, which are not configured (docs/guides/queries.md). Use a JSON Patch: [{op, path, value}].";

/** Resolves what is compared with the variable. */
async function searched(written: Json, { resolve, labels }: RuntimeToolContext): Promise<Json> {
  try {
    const { value } = await resolve(written);
    if (!labels.isGuarded) return value;
  } catch (error) {
    if (!labels.isGuarded) throw error;
  }
  const message = "A guarded value cannot be searched for, or tested: the result would reveal it.";
  throw new ByrefError("variable_sealed", message);
}
