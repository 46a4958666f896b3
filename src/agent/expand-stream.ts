import type { TextStreamPart, ToolSet } from "ai";
import * as limits from "../limits.ts";
import { Expander, type ExpandOptions, type ExpansionBudget } from "../reference/expand.ts";
import { LookupWork } from "../reference/lookup.ts";
import { UrlTracker } from "../reference/url-tracker.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { lookupInStore } from "../tool/store-lookup.ts";
import { slicesOf } from "../value/characters.ts";
import { keepWritten } from "./written-text.ts";

/** How references in texts are read; see `ExpandOptions`. */
export type ExpandingOptions = Pick<ExpandOptions, "syntaxes" | "inCode" | "inUrls">;

type AnyPart = TextStreamPart<ToolSet>;
type Part<Type extends AnyPart["type"]> = Extract<AnyPart, { type: Type }>;

/**
 * The parts of a stream of the SDK (`result.stream`) on their way out: references in texts are expanded,
 * all else passes. What is held is let go at a text's end and before any other part. The end of a text
 * that was changed carries it as it was written, so that it can be put back (`written-text.ts`).
 */
export function expandStream<Tools extends ToolSet>(
  store: VariableStore,
  options: ExpandingOptions = {},
): TransformStream<TextStreamPart<Tools>, TextStreamPart<Tools>> {
  const parts = new Parts(store, options);
  const stream = new TransformStream<AnyPart, AnyPart>({
    transform: (part, controller) => parts.write(part, (out) => controller.enqueue(out)),
    flush: (controller) => parts.flush((out) => controller.enqueue(out)),
  });
  // No part that knows of tools is changed.
  return stream as unknown as TransformStream<TextStreamPart<Tools>, TextStreamPart<Tools>>;
}

type Emit = (part: AnyPart) => void;

interface OpenText {
  readonly expander: Expander;
  written: string;
  shown: string;
  metadata: Part<"text-end">["providerMetadata"];
}

class Parts {
  readonly #store: VariableStore;
  readonly #options: ExpandingOptions;
  readonly #budget: ExpansionBudget = {
    leftChars: limits.maxExpansionChars,
    work: new LookupWork(),
  };
  /** A client may join the texts: a URL that one opens is open in the next. */
  readonly #urls = new UrlTracker();
  readonly #open = new Map<string, OpenText>();

  constructor(store: VariableStore, options: ExpandingOptions) {
    this.#store = store;
    this.#options = options;
  }

  async write(part: AnyPart, emit: Emit): Promise<void> {
    if (part.type === "text-delta") return this.#writeDelta(part, emit);
    await this.flush(emit);
    if (part.type === "text-start") this.#start(part);
    emit(part.type === "text-end" ? this.#end(part) : part);
  }

  async flush(emit: Emit): Promise<void> {
    for (const [id, text] of this.#open) await text.expander.flush(put(id, text, emit));
  }

  #start({ id, providerMetadata }: Part<"text-start">): void {
    const expander = expanderFor(this.#store, {
      ...this.#options,
      budget: this.#budget,
      urls: this.#urls,
    });
    this.#open.set(id, { expander, written: "", shown: "", metadata: providerMetadata });
  }

  async #writeDelta(part: Part<"text-delta">, emit: Emit): Promise<void> {
    const { id, text: delta, providerMetadata } = part;
    const text = this.#open.get(id);
    if (text === undefined) return emit(part);
    if (providerMetadata !== undefined) {
      text.metadata = providerMetadata;
      emit({ ...part, text: "" });
    }
    text.written += delta;
    await text.expander.write(delta, put(id, text, emit));
  }

  #end(part: Part<"text-end">): AnyPart {
    const text = this.#open.get(part.id);
    this.#open.delete(part.id);
    if (text === undefined || text.written === text.shown) return part;
    const metadata = part.providerMetadata ?? text.metadata;
    return { ...part, providerMetadata: keepWritten(text.written, metadata) };
  }
}

function put(id: string, text: OpenText, emit: Emit) {
  return (expanded: string) => {
    text.shown += expanded;
    for (const slice of slicesOf(expanded, limits.maxSliceChars)) {
      emit({ type: "text-delta", id, text: slice });
    }
  };
}

/** One that lets text leave at once which cannot name a variable of the store. */
export function expanderFor(store: VariableStore, options: ExpandOptions = {}): Expander {
  return new Expander(lookupInStore(store, { failures: "show" }), {
    ...options,
    couldBegin: (prefix) => store.couldBegin(prefix),
    isKnown: (name) => store.glance(name) !== undefined || store.tombstone(name) !== undefined,
  });
}
