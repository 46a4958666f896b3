import * as limits from "../../limits.ts";
import type { Variables } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import {
  compact,
  countOf,
  isJsonObject,
  type Json,
  type JsonObject,
  typeOfJson,
} from "../../value/json.ts";
import { fits, MAX_COUNT, type ModelOutput, runtimeTool, startWithin } from "../runtime-tool.ts";
import { detectMediaType } from "@ai-sdk/provider-utils";
import { toBase64 } from "../../value/encoding.ts";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import { clip } from "../../value/characters.ts";
import { jsonChars } from "../../value/json-text.ts";
import type { Path } from "../../value/path.ts";
import { previewOf } from "../../value/preview.ts";
import { shapeOf } from "../../value/shape.ts";
import { childrenOf, partAt, type Sequence, valueAt } from "./sequence.ts";
import { nameOf, readable, referenceTo, type Target, targetIn } from "./variable-target.ts";

/** In an object that is too large to show, longer keys are cut and longer values described. */
const MAX_KEY_CHARS = 200;
const MAX_ENTRY_CHARS = 80;

const inputSchema = z.object({
  name: z.string(),
  path: z.string().optional(),
  offset: z.int().min(0).max(MAX_COUNT).optional(),
  limit: z.int().min(1).max(MAX_COUNT).optional(),
});

export const readVariable = runtimeTool({
  name: "read_variable",
  description: "Read a variable or part: a[0].b. `next` reads on.",
  // The name may have the path. A path has slices.
  unlisted: ["path", "limit"],
  inputSchema,
  async execute({ name, path, offset = 0, limit }, { store, locate }) {
    const target = await locate(targetIn(name, path));
    const info = readable(store, target.name);
    const untrusted = !info.trusted;
    if (info.type === "bytes") {
      if (isShowable(info, info)) return { output: aboutImage(info, target, info), untrusted };
      const { name: own, type, bytes } = info;
      const note = "Bytes cannot be read as text; pass the reference to a tool.";
      const mediaType = clip(info.mediaType, 200);
      return { output: { reference: `$${own}`, type, bytes, mediaType, note }, untrusted };
    }
    const part = await partAt(store, target);
    const request: ReadRequest = { target, offset, limit };
    if ("sequence" in part) {
      const { sequence } = part;
      const isList = sequence.type === "array";
      const output = await (isList ? elementsOf(request, sequence) : textOf(request, sequence));
      return { output, untrusted };
    }
    const picture = pictureIn(part.value);
    const isPicture = picture !== undefined && isShowable(info, picture);
    const output = isPicture ? aboutImage(info, target, picture) : shown(request, part.value);
    return { output, untrusted };
  },
  toModelOutput: (output, store) => (isImage(output) ? imageIn(output, store) : undefined),
});

interface ReadRequest {
  readonly target: Target;
  readonly offset: number;
  readonly limit: number | undefined;
}

/** Returns the input of the call that continues reading. */
function callFor({ target, limit }: ReadRequest, offset?: number) {
  return compact({ name: nameOf(target), offset, limit });
}

function boundsIn({ offset, limit }: ReadRequest, count: number) {
  const from = Math.min(offset, count);
  return { from, to: limit === undefined ? count : Math.min(from + limit, count) };
}

/** What is shown of an array, an object or a text of `count` parts: those from `from` up to, but not including, `end`. */
interface Piece {
  readonly type: "array" | "object" | "string";
  readonly count: number;
  readonly from: number;
  readonly end: number;
}

function pieceFor(
  request: ReadRequest,
  { type, count, from, end }: Piece,
  content: Readonly<Record<string, Json | undefined>>,
): Json {
  return compact({
    reference: referenceTo(request.target),
    type,
    count,
    offset: from === 0 ? undefined : from,
    ...content,
    next: end < count ? callFor(request, end) : undefined,
  });
}

async function textOf(request: ReadRequest, sequence: Sequence): Promise<Json> {
  const { count } = sequence;
  const { from, to } = boundsIn(request, count);
  // Each character takes at least one in the output.
  const read = await sequence.slice(from, Math.min(to, from + limits.maxVariableOutputChars));
  return textPiece(request, { text: typeof read === "string" ? read : "", from, count });
}

interface TextPiece {
  readonly text: string;
  /** Offset in a text of `count` characters. */
  readonly from: number;
  readonly count: number;
}

/** Returns as much of the text as fits. `after` is the input of the call that continues after the text. */
function textPiece(request: ReadRequest, { text, from, count }: TextPiece, after?: Json): Json {
  const outputOf = (value: string, end = from + countOf(value)) =>
    pieceFor(request, { type: "string", count, from, end }, { value, after });
  const whole = outputOf(text);
  if (fits(whole)) return whole;
  // The offset in `next` has at most as many digits as the count.
  const frame = jsonChars(outputOf("", count - 1), Infinity) + 1;
  return outputOf(startWithin(text, limits.maxVariableOutputChars - frame));
}

async function elementsOf(request: ReadRequest, sequence: Sequence): Promise<Json> {
  const { count } = sequence;
  const { from, to } = boundsIn(request, count);
  const elements = await loadElements(sequence, { from, to });
  const outputOf = () => {
    const end = from + elements.length;
    return pieceFor(request, { type: "array", count, from, end }, { value: elements });
  };
  const [first] = elements;
  while (elements.length > 0 && !fits(outputOf())) elements.pop();
  if (elements.length > 0 || first === undefined) return outputOf();
  const path = await sequence.pathOf(from);
  const after = from + 1 < count ? callFor(request, from + 1) : undefined;
  return tooLarge(first, { request, path, after });
}

/** Returns elements from `from` on, as many as could fit, and at least one. */
async function loadElements(
  sequence: Sequence,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Json[]> {
  const elements: Json[] = [];
  let chars = 0;
  if (from >= to) return elements;
  for await (const { value } of childrenOf({ sequence }, from)) {
    chars += jsonChars(value, Infinity) + 1;
    elements.push(value);
    if (chars > limits.maxVariableOutputChars || from + elements.length === to) break;
  }
  return elements;
}

/** Describes an element that does not fit by itself: the start of a text, or the shape of another value. */
function tooLarge(
  element: Json,
  { request, path, after }: { request: ReadRequest; path: Path; after: Json | undefined },
): Json {
  const target = { name: request.target.name, path };
  const within: ReadRequest = { target, offset: 0, limit: undefined };
  const count = countOf(element);
  if (typeof element === "string") {
    return textPiece(within, { text: element, from: 0, count }, after);
  }
  return compact({
    reference: referenceTo(target),
    type: typeOfJson(element),
    count,
    shape: shapeOf(element),
    note: "Too large to be shown whole: `next` reads it, `after` what comes behind it.",
    next: callFor(within),
    after,
  });
}

/** Shows a number, `true`, `false`, `null` or an object. An object that is too large is shown as its keys. */
function shown(request: ReadRequest, value: Json): Json {
  const reference = referenceTo(request.target);
  const type = typeOfJson(value);
  if (!isJsonObject(value)) {
    if (request.offset === 0) return { reference, type, value };
    const message = `${reference} is ${type}: offset is for arrays, objects and texts.`;
    throw new ByrefError("invalid_tool_input", message);
  }
  const isWhole = request.offset === 0 && request.limit === undefined;
  const whole = { reference, type, count: countOf(value), value };
  return isWhole && fits(whole) ? whole : keysOf(request, value);
}

function keysOf(request: ReadRequest, value: { readonly [key: string]: Json }): Json {
  const names = Object.keys(value);
  const { from, to } = boundsIn(request, names.length);
  const entries: [string, Json][] = [];
  let chars = 0;
  for (let index = from; index < to && chars <= limits.maxVariableOutputChars; index++) {
    const entry = entryOf(value, names[index] ?? "", index);
    chars += jsonChars(entry, Infinity) - 1;
    entries.push(entry);
  }
  const outputOf = () => {
    const piece = {
      type: "object",
      count: names.length,
      from,
      end: from + entries.length,
    } as const;
    const note = "What is under each key: read one with path.";
    return pieceFor(request, piece, { keys: Object.fromEntries(entries), note });
  };
  while (entries.length > 1 && !fits(outputOf())) entries.pop();
  return outputOf();
}

function entryOf(
  value: { readonly [key: string]: Json },
  key: string,
  index: number,
): [string, string] {
  const inner = value[key] ?? null;
  const isShort = key.length <= MAX_KEY_CHARS;
  const name = isShort ? key : `${clip(key, 100)}… (key ${index}, ${key.length} characters)`;
  return [name, aboutValue(inner)];
}

function aboutValue(value: Json): string {
  const whole = JSON.stringify(value);
  if (whole.length <= MAX_ENTRY_CHARS) return whole;
  return `${typeOfJson(value)} (${countOf(value)}): ${previewOf(value, MAX_ENTRY_CHARS)}`;
}

/** Image types that the providers of the AI SDK accept. */
const IMAGE = /^image\/(?:png|jpeg|webp|gif)$/u;

interface Picture {
  readonly mediaType: string;
  readonly bytes: number;
}

/** A picture as an MCP server returns it beside other content. */
function pictureIn(value: Json): (Picture & { readonly data: string }) | undefined {
  if (!isJsonObject(value)) return undefined;
  const { type, data, mimeType } = value;
  if (type !== "image" || typeof data !== "string" || typeof mimeType !== "string")
    return undefined;
  return { mediaType: mimeType, bytes: Math.floor((data.length * 3) / 4), data };
}

/** True if a model may see it as an image. */
function isShowable({ visibility }: VariableInfo, { mediaType, bytes }: Picture): boolean {
  return visibility === "model" && IMAGE.test(mediaType) && bytes <= limits.maxRecordBytes;
}

/** Identifies an image that a model has read. The history keeps this output, never the bytes. */
function aboutImage(info: VariableInfo, target: Target, { mediaType, bytes }: Picture): Json {
  const { version, updatedAt, type, trusted } = info;
  const which = { version, updatedAt, trusted };
  return { reference: referenceTo(target), type, bytes, mediaType, ...which, image: true };
}

/** True for outputs of `aboutImage`; no other tool returns both keys. */
export function isImage(output: unknown): output is JsonObject {
  if (typeof output !== "object" || output === null) return false;
  return "image" in output && output.image === true && "reference" in output;
}

/** Marks the image as left out of the prompt, so that the model does not assume that it has seen it. */
export function withoutImage(output: JsonObject): JsonObject {
  return { ...output, image: LEFT_OUT };
}

const LEFT_OUT = `left out: you see the newest ${limits.maxShownImages} that you read in this turn; read it again to see it`;

/** Adds the image itself, if the variable still has the same image. */
async function imageIn(output: JsonObject, store: Variables): Promise<ModelOutput> {
  const target = targetIn(String(output.reference));
  const info = store.info(target.name);
  // A version is not enough: versions restart when a variable is deleted.
  const isSame =
    info?.version === output.version &&
    info?.updatedAt === output.updatedAt &&
    info?.trusted === output.trusted;
  if (info === undefined || !isSame) return imageLeftOut(output);
  const picture = await pictureAt(info, target, store);
  if (picture === undefined || !isShowable(info, picture)) return imageLeftOut(output);
  const { data } = picture;
  // Providers compare the type with the bytes.
  const mediaType = detectMediaType({ data, topLevelType: "image" }) ?? picture.mediaType;
  return {
    type: "content",
    value: [
      { type: "text", text: JSON.stringify(output) },
      { type: "file", mediaType, data: { type: "data", data } },
    ],
  };
}

async function pictureAt(info: VariableInfo, target: Target, store: Variables) {
  if (info.type !== "bytes") return pictureIn(await valueAt(store, target));
  const open = isShowable(info, info) ? store.open(info.name) : undefined;
  try {
    return open && { ...info, data: toBase64(await open.read(0, info.bytes)) };
  } finally {
    open?.close();
  }
}

function imageLeftOut(output: JsonObject): ModelOutput {
  return { type: "json", value: withoutImage(output) };
}
