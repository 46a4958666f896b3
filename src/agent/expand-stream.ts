import type { ModelMessage, TextStreamPart, ToolSet } from "ai";
import type { ExpandOptions } from "../reference/expand.ts";
import { TextsExpander } from "../reference/expand-texts.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { knownNamesOf, lookupInStore } from "../tool/store-lookup.ts";
import { isObject } from "../value/json.ts";

/** How references in texts are parsed; see `ExpandOptions`. */
export type ExpandingOptions = Pick<ExpandOptions, "syntaxes" | "inCode" | "inUrls">;

type AnyPart = TextStreamPart<ToolSet>;
type Part<Type extends AnyPart["type"]> = Extract<AnyPart, { type: Type }>;

/**
 * Transforms the parts of an SDK stream (`result.stream`): expands references in texts and passes all other
 * parts through. Held text is emitted at the end of a text and before any other part. The end part of a
 * changed text carries the original, so that `asWritten` can restore it.
 */
export function expandStream<Tools extends ToolSet>(
  store: VariableStore,
  options: ExpandingOptions = {},
): TransformStream<TextStreamPart<Tools>, TextStreamPart<Tools>> {
  let parts: Parts | undefined;
  const stream = new TransformStream<AnyPart, AnyPart>({
    start(controller) {
      parts = new Parts(store, options, (part) => controller.enqueue(part));
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
  metadata: Part<"text-end">["providerMetadata"];
}

class Parts {
  readonly #emit: (part: AnyPart) => void;
  readonly #texts: TextsExpander;
  readonly #open = new Map<string, OpenText>();

  constructor(store: VariableStore, options: ExpandingOptions, emit: (part: AnyPart) => void) {
    this.#emit = emit;
    this.#texts = textsExpander(store, options, (id, slice) => {
      const text = this.#open.get(id);
      if (text !== undefined) text.shown += slice;
      emit({ type: "text-delta", id, text: slice });
    });
  }

  async write(part: AnyPart): Promise<void> {
    if (part.type === "text-delta") return this.#writeDelta(part);
    await this.flush();
    if (part.type === "text-start") this.#start(part);
    this.#emit(part.type === "text-end" ? this.#end(part) : part);
  }

  flush(): Promise<void> {
    return this.#texts.flush();
  }

  #start({ id, providerMetadata }: Part<"text-start">): void {
    this.#texts.start(id);
    this.#open.set(id, { written: "", shown: "", metadata: providerMetadata });
  }

  async #writeDelta(part: Part<"text-delta">): Promise<void> {
    const { id, text: delta, providerMetadata } = part;
    const text = this.#open.get(id);
    if (text === undefined) return this.#emit(part);
    if (providerMetadata !== undefined) {
      text.metadata = providerMetadata;
      this.#emit({ ...part, text: "" });
    }
    text.written += delta;
    await this.#texts.write(id, delta);
  }

  #end(part: Part<"text-end">): AnyPart {
    const text = this.#open.get(part.id);
    this.#open.delete(part.id);
    this.#texts.end(part.id);
    if (text === undefined || text.written === text.shown) return part;
    const metadata = part.providerMetadata ?? text.metadata;
    return { ...part, providerMetadata: { ...metadata, [KEY]: { written: text.written } } };
  }
}

/** Expands texts that refer to the store's variables. */
export function textsExpander(
  store: VariableStore,
  options: ExpandingOptions,
  emit: (id: string, slice: string) => void,
): TextsExpander {
  const lookup = lookupInStore(store, { failures: "show" });
  return new TextsExpander(lookup, { ...options, ...knownNamesOf(store), emit });
}

/** Key in a text's provider metadata for the text as the model wrote it. */
const KEY = "byref";

/**
 * Returns the messages with texts as the model wrote them. A client that keeps the conversation sends back
 * what it showed, with the values that `expandStream` inserted. Restoring the texts keeps those values out
 * of prompts.
 */
export function asWritten(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    message.role === "assistant" && typeof message.content !== "string"
      ? { ...message, content: message.content.map(writtenPart) }
      : message,
  );
}

function writtenPart<Part extends { readonly type: string }>(part: Part): Part {
  if (part.type !== "text" || !("providerOptions" in part)) return part;
  const { providerOptions } = part;
  if (!isObject(providerOptions) || !isObject(providerOptions[KEY])) return part;
  const { [KEY]: kept, ...others } = providerOptions;
  const { written } = kept as { readonly written?: unknown };
  return typeof written === "string" ? { ...part, text: written, providerOptions: others } : part;
}
