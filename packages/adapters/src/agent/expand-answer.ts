import type { AssistantModelMessage, ModelMessage, TextStreamPart, ToolSet } from "ai";
import { type ExpandOptions, type Lookup, createExpander } from "../../../../src/references.ts";
import { TextsExpander, type VariableStore, json } from "../../../../src/internal.ts";
import { knownNamesOf, lookupInStore } from "../../../../src/internal-tool.ts";
import { ledgerOf } from "./approvals.ts";

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
  let parts: TextParts<AnyPart> | undefined;
  const stream = new TransformStream<AnyPart, AnyPart>({
    start(controller) {
      parts = new TextParts<AnyPart>(store, options, {
        emit: (part) => controller.enqueue(part),
        deltaOf: (part) => (part.type === "text-delta" ? part.text : undefined),
        delta: (id, text) => ({ type: "text-delta", id, text }),
      });
    },
    transform: (part) => parts?.write(part),
    flush: () => parts?.flush(),
  });
  // The transform changes no part whose type depends on the tools.
  return stream as unknown as TransformStream<TextStreamPart<Tools>, TextStreamPart<Tools>>;
}

interface OpenText {
  written: string;
  shown: string;
  metadata: unknown;
}

/** A part of a stream; texts have ids. */
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
  /** Returns a `text-delta`. */
  delta(id: string, text: string): Part;
}

/**
 * Expands the texts in the parts of a stream. Requests for approval without a reason get one, with the input that
 * would run. If `write` returns a promise, await it before the next.
 */
export class TextParts<Part extends StreamPart> {
  readonly #form: StreamForm<Part>;
  readonly #texts: TextsExpander;
  readonly #decisions: ReturnType<typeof ledgerOf>;
  readonly #open = new Map<string, OpenText>();
  readonly #onShown: (text: ShownText, key: object) => void;
  /** True if the latest variable that was looked up is sealed. */
  #isSealed = false;
  /** A sealed value that is emitted next, and its reference as the model wrote it. */
  #next: { readonly source: string; readonly text: string } | undefined;

  constructor(
    store: VariableStore,
    { onShown = () => undefined, sealed, ...options }: ExpandingOptions,
    form: StreamForm<Part>,
  ) {
    this.#form = form;
    this.#decisions = ledgerOf(store);
    this.#onShown = onShown;
    const onUsed = (name: string) => {
      this.#isSealed = store.glance(name)?.visibility !== "model";
    };
    this.#texts = new TextsExpander(lookupFor(store, json.compact({ sealed }), onUsed), {
      ...options,
      ...knownNamesOf(store),
      onResolved: (source, text) => {
        if (this.#isSealed && text !== "") this.#next = { source, text };
        this.#isSealed = false;
      },
      emit: (id, slice) => {
        this.#addShown(id, slice);
        form.emit(form.delta(id, slice));
      },
    });
  }

  write(part: Part): void | Promise<void> {
    const delta = this.#form.deltaOf(part);
    const { type, id = "", providerMetadata: metadata } = part;
    if (delta !== undefined) return this.#writeDelta(part, id, delta);
    if (type === "text-start") this.#open.set(id, { written: "", shown: "", metadata });
    return this.#texts.pass(part, () => {
      if (type === "text-end") return this.#form.emit(this.#end(part, id));
      const isRequest = type === "tool-approval-request" && part.reason === undefined;
      this.#form.emit(isRequest ? this.#withReason(part) : part);
    });
  }

  flush(): Promise<void> {
    return this.#texts.flush();
  }

  #addShown(id: string, slice: string): void {
    const text = this.#open.get(id);
    if (text === undefined) return;
    if (this.#next !== undefined) {
      const { source, text: value } = this.#next;
      this.#next = undefined;
      const end = text.written.lastIndexOf(source) + source.length;
      this.#onShown({ written: text.written.slice(0, end), shown: text.shown + value }, text);
    }
    text.shown += slice;
  }

  #writeDelta(part: Part, id: string, delta: string): void | Promise<void> {
    const { providerMetadata } = part;
    const text = this.#open.get(id);
    if (text === undefined) return this.#form.emit(part);
    if (providerMetadata !== undefined) {
      text.metadata = providerMetadata;
      this.#form.emit({ ...part, ...this.#form.delta(id, "") });
    }
    text.written += delta;
    return this.#texts.write(id, delta);
  }

  #withReason(part: Part): Part {
    const { toolCallId = part.toolCall?.toolCallId ?? "" } = part;
    return { ...part, ...json.compact({ reason: this.#decisions.about(toolCallId)?.reason }) };
  }

  #end(part: Part, id: string): Part {
    const text = this.#open.get(id);
    this.#open.delete(id);
    if (text === undefined || text.written === text.shown) return part;
    this.#onShown(text, text);
    const metadata = part.providerMetadata ?? text.metadata;
    return { ...part, providerMetadata: withWritten(metadata, text.written) };
  }
}

/** Returns the lookup of answers. */
export function lookupFor(
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
 * Returns the messages with texts as the model wrote them. A client that keeps the conversation sends back
 * what it showed, with the values that `expandStream` inserted. Restoring the texts keeps those values out
 * of prompts.
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

/** Returns a whole text with values in place of its references. */
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
