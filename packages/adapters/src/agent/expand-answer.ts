import {
  type AssistantModelMessage,
  type JSONSchema7,
  JsonToSseTransformStream,
  type ModelMessage,
  type OutputInterface as Output,
  parsePartialJson,
  type TextStreamPart,
  type ToolSet,
  type UIMessageChunk,
} from "ai";
import {
  createExpander,
  type ExpandOptions,
  type ExpansionBudget,
  type Json,
  type Lookup,
  type Reference,
} from "../../../../src/references.ts";
import {
  charsOf,
  json,
  LookupWork,
  pickSyntaxes,
  type Place,
  TextsExpander,
  type VariableStore,
  referenceTexts,
} from "../../../../src/internal.ts";
import {
  jsonSchemas,
  knownNamesOf,
  lookupInStore,
  shownSchemas,
} from "../../../../src/internal-tool.ts";
import { ledgerOf } from "./wrap-tools.ts";
import * as limits from "../../../../src/limits.ts";
import { parseJsonEventStream, type ParseResult } from "@ai-sdk/provider-utils";
import * as z from "zod";

/** How references in texts are parsed; see `ExpandOptions`. */
export interface ExpandingOptions extends Pick<ExpandOptions, "syntaxes" | "inCode" | "inUrls"> {
  /**
   * What becomes of references to sealed variables: their values are shown (default), or they stay as written, for
   * a reader that may be a model.
   */
  readonly sealed?: "show" | "keep";
  /**
   * Called before each sealed value is shown, with the text up to its end, and at the end of each changed text: for
   * histories that do not keep the metadata of texts. `key` is the same object for the same text.
   */
  readonly onShown?: (text: ShownText, key: object) => void;
}

/** A text with the values of its references, as far as it was shown. */
export interface ShownText {
  readonly written: string;
  readonly shown: string;
}

type AnyPart = TextStreamPart<ToolSet>;

/**
 * Transforms the parts of an SDK stream (`result.stream`): expands references in texts and passes all other
 * parts through. Held text is emitted at the end of a text and before any other part. The end part of a
 * changed text carries the original, so that `asWritten` can restore it.
 */
export function expandStream<Tools extends ToolSet>(
  store: VariableStore,
  options: ExpandingOptions = {},
): TransformStream<TextStreamPart<Tools>, TextStreamPart<Tools>> {
  // The transform changes no part whose type depends on the tools.
  return expandParts<AnyPart>(store, options, {
    deltaOf: (part) => (part.type === "text-delta" ? part.text : undefined),
    delta: (id, text) => ({ type: "text-delta", id, text }),
  }) as unknown as TransformStream<TextStreamPart<Tools>, TextStreamPart<Tools>>;
}

function expandParts<Part extends StreamPart>(
  store: VariableStore,
  options: ExpandingOptions,
  form: Omit<StreamForm<Part>, "emit">,
): TransformStream<Part, Part> {
  let parts: TextParts<Part> | undefined;
  return new TransformStream<Part, Part>({
    start(controller) {
      const emit = (part: Part) => controller.enqueue(part);
      parts = textParts(store, options, { ...form, emit });
    },
    transform: (part) => parts?.write(part),
    flush: () => parts?.flush(),
  });
}

interface StreamPart {
  readonly type: string;
  readonly id?: string;
  readonly providerMetadata?: unknown;
  /** Of a request for approval, which names its call in one of two ways. */
  readonly reason?: unknown;
  readonly toolCallId?: string;
  readonly toolCall?: { readonly toolCallId: string };
}

/** How one kind of stream represents texts. */
interface StreamForm<Part> {
  emit(part: Part): void;
  /** The text of a `text-delta`; undefined for other parts. */
  deltaOf(part: Part): string | undefined;
  delta(id: string, text: string): Part;
}

export interface TextParts<Part> {
  /** If it returns a promise, await it before the next call. */
  write(part: Part): void | Promise<void>;
  flush(): Promise<void>;
}

/**
 * Expands the texts in the parts of a stream. Requests for approval without a reason get one, with the input that
 * would run.
 */
export function textParts<Part extends StreamPart>(
  store: VariableStore,
  { onShown = () => undefined, sealed, ...options }: ExpandingOptions,
  form: StreamForm<Part>,
): TextParts<Part> {
  const decisions = ledgerOf(store);
  const newText = (metadata: unknown) => ({ written: "", shown: "", metadata });
  const open = new Map<string, ReturnType<typeof newText>>();
  /** True if the latest variable that was looked up is sealed. */
  let isSealed = false;
  /** A sealed value that is emitted next, and its reference as the model wrote it. */
  let next: { readonly source: string; readonly text: string } | undefined;
  const onUsed = (name: string) => {
    isSealed = store.glance(name)?.visibility !== "model";
  };
  const texts = new TextsExpander(lookupFor(store, json.compact({ sealed }), onUsed), {
    ...options,
    ...knownNamesOf(store),
    onPlaced: (_id, { source, text }) => {
      if (isSealed && text !== "") next = { source, text };
      isSealed = false;
    },
    emit: (id, slice) => {
      addShown(id, slice);
      form.emit(form.delta(id, slice));
    },
  });
  return { write, flush };

  async function flush(): Promise<void> {
    await texts.flush();
    open.clear();
  }

  function write(part: Part): void | Promise<void> {
    const delta = form.deltaOf(part);
    const { type, id = "", providerMetadata: metadata } = part;
    if (delta !== undefined) return open.has(id) ? writeDelta(part, id, delta) : begin(part, id);
    if (type === "text-start") open.set(id, newText(metadata));
    return texts.pass(part, () => {
      if (type === "text-end") return form.emit(ended(part, id));
      const isRequest = type === "tool-approval-request" && part.reason === undefined;
      if (!isRequest) return form.emit(part);
      const { toolCallId = part.toolCall?.toolCallId ?? "" } = part;
      form.emit({ ...part, ...json.compact({ reason: decisions.about(toolCallId)?.reason }) });
    });
  }

  /** Begins a text with its first piece: some callbacks receive no starts. */
  async function begin(part: Part, id: string): Promise<void> {
    open.set(id, newText(undefined));
    await texts.pass({ type: "text-start", id }, () => undefined);
    await write(part);
  }

  function addShown(id: string, slice: string): void {
    const text = open.get(id);
    if (text === undefined) return;
    if (next !== undefined) {
      const { source, text: value } = next;
      next = undefined;
      const end = text.written.lastIndexOf(source) + source.length;
      onShown({ written: text.written.slice(0, end), shown: text.shown + value }, text);
    }
    text.shown += slice;
  }

  function writeDelta(part: Part, id: string, delta: string): void | Promise<void> {
    const { providerMetadata } = part;
    const text = open.get(id);
    if (text === undefined) return;
    if (providerMetadata !== undefined) {
      text.metadata = providerMetadata;
      form.emit({ ...part, ...form.delta(id, "") });
    }
    text.written += delta;
    return texts.write(id, delta);
  }

  function ended(part: Part, id: string): Part {
    const text = open.get(id);
    open.delete(id);
    if (text === undefined || text.written === text.shown) return part;
    onShown(text, text);
    const metadata = part.providerMetadata ?? text.metadata;
    return { ...part, providerMetadata: withWritten(metadata, text.written) };
  }
}

function lookupFor(
  store: VariableStore,
  { sealed }: Pick<ExpandingOptions, "sealed">,
  onUsed?: (name: string) => void,
): Lookup {
  const lookup = lookupInStore(store, json.compact({ onUsed }));
  if (sealed !== "keep") return lookup;
  return (reference, work) =>
    store.glance(reference.name)?.visibility === "sealed"
      ? { found: false, reason: "unknown" }
      : lookup(reference, work);
}

/** Key in a text's provider metadata for the text as the model wrote it. */
const KEY = "byref";

/** Adds the text as the model wrote it to the metadata of a text. */
function withWritten(metadata: unknown, written: string): object {
  const own = json.isObject(metadata) ? metadata : {};
  return { ...own, [KEY]: { written } };
}

/**
 * Returns the messages with texts as the model wrote them. A client that keeps the conversation sends back what it
 * showed, with the values that `expandStream` inserted. Restoring the texts keeps those values out of prompts.
 */
export function asWritten(messages: readonly ModelMessage[]): ModelMessage[] {
  return withAnswerParts(messages, writtenPart);
}

/** A part of an assistant's message, typed by what is read of it. */
type AnswerPart = Exclude<AssistantModelMessage["content"], string>[number];

/** Returns the messages with the parts of the assistant's messages replaced. Contents that are texts stay. */
export function withAnswerParts(
  messages: readonly ModelMessage[],
  replaced: (part: AnswerPart) => AnswerPart,
): ModelMessage[] {
  return messages.map((message) =>
    message.role === "assistant" && typeof message.content !== "string"
      ? { ...message, content: message.content.map(replaced) }
      : message,
  );
}

function writtenPart<Part extends { readonly type: string }>(part: Part): Part {
  if (part.type !== "text" || !("providerOptions" in part)) return part;
  const { providerOptions } = part;
  if (!json.isObject(providerOptions) || !json.isObject(providerOptions[KEY])) return part;
  const { [KEY]: kept, ...others } = providerOptions;
  const { written } = kept as { readonly written?: unknown };
  return typeof written === "string" ? { ...part, text: written, providerOptions: others } : part;
}

export async function expandText(
  text: string,
  store: VariableStore,
  options: ExpandingOptions,
): Promise<string> {
  const expander = createExpander(lookupFor(store, options), {
    ...options,
    ...knownNamesOf(store),
  });
  return (await expander.push(text)) + (await expander.end());
}

/**
 * Returns messages of a history as people see them, with values in the texts of the assistant: `responseMessages`,
 * messages of a client, or messages that the memory of Mastra recalls. They are for display; the history itself
 * must keep references. A message that comes back from a client is restored: a changed part has the text that the
 * model wrote in its metadata.
 */
export async function expandMessages<Message extends { readonly role: string }>(
  messages: readonly Message[],
  store: VariableStore,
  options: ExpandingOptions = {},
): Promise<Message[]> {
  const expand = (text: string) => expandText(text, store, options);
  return Promise.all(
    messages.map(async (message) =>
      message.role === "assistant" ? ((await withTexts(message, expand)) as Message) : message,
    ),
  );
}

type Expand = (text: string) => Promise<string>;

/** Replaces the texts in `content` and `parts`, each of which may be a text or a list of parts. */
async function withTexts(holder: object, expand: Expand): Promise<object> {
  const { content, parts } = holder as { readonly content?: unknown; readonly parts?: unknown };
  return {
    ...holder,
    ...(content !== undefined && { content: await texts(content, "providerOptions", expand) }),
    ...(parts !== undefined && { parts: await texts(parts, "providerMetadata", expand) }),
  };
}

/** `metadata`: the key of a part's metadata. */
async function texts(held: unknown, metadata: string, expand: Expand): Promise<unknown> {
  if (typeof held === "string") return expand(held);
  if (!Array.isArray(held)) return json.isObject(held) ? withTexts(held, expand) : held;
  const parts: readonly unknown[] = held;
  return Promise.all(
    parts.map(async (part) => {
      if (!json.isObject(part) || part.type !== "text" || typeof part.text !== "string")
        return part;
      const text = await expand(part.text);
      if (text === part.text) return part;
      return { ...part, text, [metadata]: withWritten(part[metadata], part.text) };
    }),
  );
}

interface ObjectOptions {
  /** Of the answers, with values in place of references. */
  readonly schema?: JSONSchema7 | undefined;
  /** True for a part of an answer, of which the last text may go on. What is not known of it is left out. */
  readonly isPart?: boolean;
}

/**
 * Returns a structured answer with values in place of its references; undefined for a part of which nothing is known. A
 * string that is one reference becomes the value itself, except where the schema takes only text. All others become
 * text, as in any answer. References that cannot be resolved stay as written.
 */
export async function expandObject(
  answer: unknown,
  store: VariableStore,
  options: ExpandingOptions,
  { schema = {}, isPart = false }: ObjectOptions = {},
): Promise<unknown> {
  const budget: ExpansionBudget = { leftChars: limits.maxInsertedChars, work: new LookupWork() };
  const lookup = lookupFor(store, options);
  const expanded = await expand(answer, [], isPart);
  return expanded === UNKNOWN ? undefined : expanded;

  /** `isOpen`: the last text at this place may go on. */
  async function expand(value: unknown, place: Place, isOpen: boolean): Promise<unknown> {
    if (typeof value === "string") return expandedText(value, place, isOpen);
    const isList = Array.isArray(value);
    if (!isList && (!json.isObject(value) || Object.getPrototypeOf(value) !== Object.prototype)) {
      return value;
    }
    const known: (readonly [key: string | number, inner: unknown])[] = [];
    const entries = isList ? [...value.entries()] : Object.entries(value);
    for (const [index, [key, inner]] of entries.entries()) {
      const isLast = index === entries.length - 1;
      const expanded = await expand(inner, [...place, key], isOpen && isLast);
      if (expanded !== UNKNOWN) known.push([key, expanded]);
    }
    return isList ? known.map(([, inner]) => inner) : Object.fromEntries(known);
  }

  async function expandedText(text: string, place: Place, isOpen: boolean): Promise<unknown> {
    const whole = referenceTexts.wholeReference(text, pickSyntaxes(options.syntaxes));
    const value = whole && !isOpen ? await valueOf(whole.reference, place) : undefined;
    if (value !== undefined) return value;
    const expander = createExpander(lookup, { ...options, ...knownNamesOf(store), budget });
    const known = await expander.push(text);
    if (isOpen) return known === "" && text !== "" ? UNKNOWN : known;
    return known + (await expander.end());
  }

  /** Returns the value of a whole reference; undefined if its text is to be in its place. */
  async function valueOf(reference: Reference, place: Place): Promise<Json | undefined> {
    const found = await lookup(reference, budget.work);
    if (!found.found || typeof found.value === "string") return undefined;
    if (jsonSchemas.takesTextOnly(schema, place, found.value)) return undefined;
    const chars = charsOf(found.value, budget.leftChars);
    if (chars > budget.leftChars) return undefined;
    budget.leftChars -= chars;
    return found.value;
  }
}

/** Stands for a text that begins with a reference whose end is not known yet. */
const UNKNOWN = Symbol("unknown");

/** Returns the schema of structured answers as a model is shown it: any part of them may be a reference. */
export function widenAnswer(
  schema: JSONSchema7,
  { syntaxes }: Pick<ExpandingOptions, "syntaxes">,
): JSONSchema7 {
  const options = json.compact({ syntaxes });
  const { items, ...others } = schema;
  if (schema.type !== "array" || items === undefined)
    return shownSchemas.widenSchema(schema, options);
  // Only the properties of an object are widened.
  const asObject = { ...others, type: "object" as const, properties: { items: items as object } };
  const { properties } = shownSchemas.widenSchema(asObject, options);
  return { ...schema, items: properties?.items ?? items };
}

/**
 * Returns the output of an agent, or of `generateText` and `streamText`, for a model that writes references. They
 * are replaced before the output's own schema validates them. Partial outputs and elements have values, too, but
 * not parts of a text.
 */
export function expandOutput<Complete, Partial, Element>(
  output: Output<Complete, Partial, Element>,
  store: VariableStore,
  options: ExpandingOptions = {},
): Output<Complete, Partial, Element> {
  const format = Promise.resolve(output.responseFormat);
  const openings = pickSyntaxes(options.syntaxes).map(({ opening }) => opening);
  /** Returns the JSON with values. The end of a part is left out, because the part may go on. */
  const expanded = async (text: string, isPart: boolean): Promise<string> => {
    if (!openings.some((opening) => text.includes(opening))) return text;
    const found = await format;
    if (found?.type !== "json") return isPart ? text : expandText(text, store, options);
    const { value, state } = await parsePartialJson(text);
    const { schema } = found;
    if (state === "successful-parse")
      return JSON.stringify(await expandObject(value, store, options, { schema }));
    const isOpen = state === "repaired-parse";
    const part = isOpen && (await expandObject(value, store, options, { schema, isPart: true }));
    return !isOpen || part === undefined ? text : JSON.stringify(part).replace(/[\]}"]$/u, "");
  };
  return {
    ...output,
    responseFormat: format.then((found) =>
      found?.type === "json" && found.schema !== undefined
        ? { ...found, schema: widenAnswer(found.schema, options) }
        : found,
    ),
    parseCompleteOutput: async ({ text }, context) =>
      output.parseCompleteOutput({ text: await expanded(text, false) }, context),
    parsePartialOutput: async ({ text }) =>
      output.parsePartialOutput({ text: await expanded(text, true) }),
  };
}

/** How the results of a call are shown to callers. */
export interface Showing {
  store: VariableStore;
  readonly expanding: ExpandingOptions;
  /** The output of the call's settings, which has been expanded. */
  output?: Pick<Output, "responseFormat"> | undefined;
}

/** The text of a structured answer is for programs, and values in it could break it: it stays as written. */
async function shownText(text: string, { store, expanding, output }: Showing): Promise<string> {
  const format = await output?.responseFormat;
  return format?.type === "json" ? text : expandText(text, store, expanding);
}

/**
 * Returns the result with `text` and `output` expanded. All other fields stay as the SDK recorded them, by
 * reference: `steps`, `content` and `responseMessages`, for the history.
 */
export async function expandedResult<
  Result extends { readonly text: string; readonly output: unknown },
>(result: Result, showing: Showing): Promise<Result> {
  const text = await shownText(result.text, showing);
  // Other properties are inherited from the result. The getter of `output` throws if there is none.
  return Object.create(result, {
    text: { value: text },
    output: { get: () => (showing.output === undefined ? result.output && text : result.output) },
  }) as Result;
}

/** The fields of `StreamTextResult` that change, or that have to be read from the original result. */
interface Streamed<Tools extends ToolSet> {
  readonly stream: ReadableStream<TextStreamPart<Tools>>;
  readonly text: PromiseLike<string>;
  readonly output: PromiseLike<unknown>;
  readonly partialOutputStream: unknown;
  readonly elementStream: unknown;
}

/** Returns the result with its streams, `text` and `output` expanded, and with the responses that are made of them. */
export async function expandedStreamResult<Tools extends ToolSet, Result extends Streamed<Tools>>(
  result: Result,
  showing: Showing,
): Promise<Result> {
  const { store, expanding, output } = showing;
  const format = await output?.responseFormat;
  const stream = () =>
    format?.type === "json"
      ? result.stream
      : result.stream.pipeThrough<TextStreamPart<Tools>>(expandStream<Tools>(store, expanding));
  const text = () => result.text.then((written) => shownText(written, showing));
  // The SDK's methods build responses from `this.stream`, which is the expanded stream here. Getters that
  // split the SDK's stream must run on the original result. All other properties are inherited.
  return Object.create(result, {
    stream: { get: stream },
    fullStream: { get: stream },
    text: { get: text },
    output: { get: () => (output === undefined ? text() : result.output) },
    partialOutputStream: { get: () => result.partialOutputStream },
    experimental_partialOutputStream: { get: () => result.partialOutputStream },
    elementStream: { get: () => result.elementStream },
  }) as Result;
}

/** The callbacks of an agent and of its calls that receive the text of an answer. */
const CALLBACKS = ["onStepEnd", "onStepFinish", "onEnd", "onFinish"] as const;

type Callback = (event: never) => unknown;

/**
 * Returns an agent's settings, or the options of a call, whose callbacks receive expanded texts. The rest of
 * their events is for histories, and stays as the SDK recorded it.
 */
export function withShownEvents<Options extends object>(
  options: Options,
  showing: Showing,
): Options {
  const given: { readonly [Name in (typeof CALLBACKS)[number]]?: Callback } = options;
  const shown = CALLBACKS.flatMap((name) => {
    const callback = given[name];
    if (typeof callback !== "function") return [];
    const onEvent = async (event: { readonly text: string }) => {
      const text = await shownText(event.text, showing);
      // Steps have getters, which they inherit.
      await callback(Object.create(event, { text: { value: text, enumerable: true } }) as never);
    };
    return [[name, onEvent]];
  });
  return { ...options, ...(Object.fromEntries(shown) as object) };
}

/**
 * Expands the references in an answer that `toUIMessageStreamResponse` made, while it is sent. Status and headers stay.
 * Each changed text ends with the original in its metadata, from which `asWritten` restores it, so that a history of
 * such messages costs a prompt no more than references. Any other response, such as a plain text or an error in JSON,
 * is returned as it is.
 */
export function expandResponse(
  response: Response,
  store: VariableStore,
  options: ExpandingOptions = {},
): Response {
  const { body, status, statusText } = response;
  const headers = new Headers(response.headers);
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  if (body === null || !isStream) return response;
  headers.delete("content-length");
  const parsed = new TransformStream<ParseResult<z.infer<typeof anyPart>>, UIMessageChunk>({
    transform(event, controller) {
      if (!event.success) throw event.error;
      // Only the fields that are read were checked: the type, and the id and delta of a text.
      controller.enqueue(event.value as unknown as UIMessageChunk);
    },
  });
  const expanded = parseJsonEventStream({ stream: body, schema: anyPart })
    .pipeThrough(parsed)
    .pipeThrough(
      expandParts<UIMessageChunk>(store, options, {
        delta: (id, delta) => ({ type: "text-delta", id, delta }),
        deltaOf: (part) => (part.type === "text-delta" ? part.delta : undefined),
      }),
    )
    .pipeThrough(new JsonToSseTransformStream())
    .pipeThrough(new TextEncoderStream());
  return new Response(expanded, { status, statusText, headers });
}

/** A part of the stream. Its readers check the fields. */
const anyPart = z.looseObject({ type: z.string() });
