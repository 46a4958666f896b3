import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { problemFrom } from "../../reference/reference-problem.ts";
import { type Content, TEXT_TYPE } from "../../store/bytes/content.ts";
import type { Variables } from "../../store/variable-store.ts";
import type { OpenValue } from "../../store/variable.ts";
import { streamOf } from "../../value/bytes.ts";
import type { Json } from "../../value/json.ts";
import { patched, type PatchOperation } from "../../value/json-patch.ts";
import { jsonSegments } from "../../value/json-segments.ts";
import { charsOf } from "../../value/json-text.ts";
import { type Diff, LineDiff } from "../../value/line-diff.ts";
import { EditWork, lineEndOf } from "../../value/text-edit.ts";
import { lookupInStore } from "../store-lookup.ts";
import { referenceTo, type Target } from "../variables/variable-target.ts";
import { EditedText } from "./edit-text.ts";
import type { ResolvedEdits } from "./resolved-edits.ts";

/** The value after edits. */
export interface Edited {
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
export async function editedValue(target: Target, editing: Editing): Promise<Edited> {
  const { store, edits, isPart } = editing;
  const open =
    edits.kind === "text" && target.path.length === 0 ? openText(store, target) : undefined;
  /** UTF-8 has no lone surrogates. */
  const isJoined = (before: string) => isPart || !before.isWellFormed();
  try {
    if (edits.kind === "text" && open !== undefined) {
      const { chars } = open.info;
      const edited = new EditedText(() => piecesOf(open), chars, edits.replacements);
      return await finished(edited, isJoined("") ? joined(edited) : received(edited, store));
    }
    const before = await valueAt(store, target);
    if (edits.kind === "json") return patchedValue(before, edits.operations);
    if (edits.kind === "records") {
      const chars = charsOf(before, limits.maxJsonBytes);
      new EditWork(chars).read(edits.count * chars);
      return compared(before, await edits.apply(before));
    }
    if (typeof before !== "string") {
      const message = `${referenceTo(target)} is not a text. Change it with a JSON Patch: [{op, path, value}].`;
      throw new ByrefError("bad_value", message);
    }
    const edited = new EditedText(() => textOf(before), before.length, edits.replacements);
    return await finished(edited, isJoined(before) ? joined(edited) : received(edited, store));
  } finally {
    open?.close();
  }
}

async function finished(edited: EditedText, value: Promise<Json | Content>): Promise<Edited> {
  const kept = await value;
  return { value: kept, diff: edited.diff(), isComposed: await edited.isComposed() };
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

function received(edited: EditedText, store: Variables): Promise<Content> {
  return store.receive(streamOf(encoded(edited.text())), TEXT_TYPE);
}

/** Encodes texts, joined so that each part has some length and ends with a whole character. */
async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  let held = "";
  for await (const text of texts) {
    held += text;
    if (held.length < PART_BYTES) continue;
    const isSplit = (held.charCodeAt(held.length - 1) & 0xfc00) === 0xd800;
    const end = held.length - (isSplit ? 1 : 0);
    yield encoder.encode(held.slice(0, end));
    held = held.slice(end);
  }
  yield encoder.encode(held);
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

async function* textOf(text: string): AsyncGenerator<string> {
  for (let from = 0; from < text.length; from += PART_BYTES) {
    yield text.slice(from, from + PART_BYTES);
  }
}

/** Returns the first line end of a text, if there is one in its first part. */
export async function lineEndIn(store: Variables, target: Target): Promise<string | undefined> {
  const open = target.path.length === 0 ? openText(store, target) : undefined;
  try {
    const start = open && (await open.read(0, Math.min(PART_BYTES, open.info.bytes)));
    const text =
      start === undefined ? await valueAt(store, target) : new TextDecoder().decode(start);
    return typeof text === "string" ? lineEndOf(text) : undefined;
  } finally {
    open?.close();
  }
}

/** Opens a text that is stored as UTF-8. */
function openText(store: Variables, { name }: Target): OpenValue | undefined {
  const open = store.open(name);
  if (open?.info.mediaType === TEXT_TYPE) return open;
  open?.close();
  return undefined;
}

const SMALLER = "Make the value smaller.";

async function valueAt(store: Variables, target: Target): Promise<Json> {
  const answer = await lookupInStore(store, { hidesUntrusted: true })(target);
  if (answer.found) return answer.value;
  throw problemFrom(referenceTo(target), answer);
}

function patchedValue(before: Json, operations: readonly PatchOperation[]): Edited {
  const isReading = ({ op }: PatchOperation) => op === "copy" || op === "test";
  let chars = operations.some(isReading) ? charsOf(before, limits.maxJsonBytes) : 0;
  const work = new EditWork(chars);
  for (const operation of operations) {
    // A value in many places is one in memory, and many in the result.
    if ("value" in operation) work.add(charsOf(operation.value, limits.maxJsonBytes));
  }
  const after = patched(before, operations, {
    spend: (copied) => work.read(copied),
    check(value, operation) {
      if (!isReading(operation)) return;
      // Copies of copies grow exponentially, and share their parts in memory.
      if (operation.op === "copy") chars = charsOf(value, limits.maxJsonBytes);
      requireAtMost(["maxJsonBytes", limits.maxJsonBytes], chars, SMALLER);
      work.read(operation.op === "copy" ? COPY_COST * chars : chars);
    },
  });
  return compared(before, after);
}

/** Cost of a character of the value when a part is copied: the whole is measured again. */
const COPY_COST = 8;

function compared(before: Json, value: Json): Edited {
  const diff = new LineDiff(limits.maxDiffLines);
  for (const segment of jsonSegments(before, value)) diff.add(segment);
  return { value, diff: diff.end(), isComposed: false };
}
