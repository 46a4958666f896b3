import type { UIMessageChunk } from "ai";
import * as limits from "../limits.ts";
import { Expander, type ExpansionBudget } from "../reference/expand.ts";
import { type Lookup, LookupWork } from "../reference/lookup.ts";
import { UrlTracker } from "../reference/url-tracker.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { lookupFor, ScopedStore } from "../tool/scoped-store.ts";
import type { RunScope } from "../tool/wrapped-tool.ts";
import { slicesOf } from "../value/characters.ts";
import type { TurnState } from "./log/turn-state.ts";
import type { TurnContext } from "./turn-context.ts";

interface AnswerOptions {
  readonly state: TurnState;
  /** The run whose names the answer uses; without: the conversation's. */
  readonly scope?: RunScope | undefined;
  /** Called for each variable that the answer refers to. */
  readonly onUsed?: ((name: string) => void) | undefined;
}

/**
 * The chunks of an answer on their way out: references in texts are expanded, all else passes. What is
 * held is let go at a text's end and before any other part. Nothing that is expanded here goes back
 * into the history or a prompt.
 */
export class Answer {
  readonly #context: TurnContext;
  readonly #options: AnswerOptions;
  readonly #lookup: Lookup;
  readonly #budget: ExpansionBudget = {
    leftChars: limits.maxExpansionChars,
    work: new LookupWork(),
  };
  /** A client may join the texts: a URL that one opens is open in the next. */
  #urls = new UrlTracker();
  /** One for each text part that is open. */
  readonly #expanders = new Map<string, Expander>();

  constructor(context: TurnContext, options: AnswerOptions) {
    this.#context = context;
    this.#options = options;
    this.#lookup = lookupOf(context.store, options);
  }

  /** Await what is returned, if anything, before the next call. */
  write(chunk: UIMessageChunk): void | Promise<void> {
    if (chunk.type === "text-delta") return this.#writeText(chunk);
    if (chunk.type === "text-start") this.#expanders.set(chunk.id, this.#expander());
    if (this.#expanders.size === 0) return this.#context.emit(chunk);
    return this.#writeOther(chunk);
  }

  /** Lets go of what is held: at the end, at an error, when stopped. */
  async flush(): Promise<void> {
    for (const [id, expander] of this.#expanders) await expander.flush(this.#emitText(id));
  }

  /** Ends a step: a text that was left open does not go on in the next. */
  async endStep(): Promise<void> {
    await this.flush();
    this.#expanders.clear();
  }

  /** Goes on behind these texts, which were shown; what is held is forgotten. */
  restart(shown: readonly string[]): void {
    this.#expanders.clear();
    this.#urls = new UrlTracker();
    for (const text of shown) this.#urls.feed(text);
  }

  #writeText(chunk: Extract<UIMessageChunk, { type: "text-delta" }>): void | Promise<void> {
    const { id, delta, providerMetadata } = chunk;
    if (providerMetadata !== undefined) this.#context.emit({ ...chunk, delta: "" });
    return this.#expanders.get(id)?.write(delta, this.#emitText(id));
  }

  async #writeOther(chunk: UIMessageChunk): Promise<void> {
    await this.flush();
    this.#context.emit(chunk);
    if (chunk.type === "text-end") this.#expanders.delete(chunk.id);
  }

  #expander(): Expander {
    const { agent, account, emit } = this.#context;
    const { unknown: _unknown, ...references } = agent.references ?? {};
    const store = new ScopedStore(this.#context.store, this.#options.scope);
    return new Expander(this.#lookup, {
      ...references,
      budget: this.#budget,
      urls: this.#urls,
      couldBegin: (prefix) => store.couldBegin(prefix),
      isKnown: (name) => store.glance(name) !== undefined || store.tombstone(name) !== undefined,
      onResolved: (source, text) =>
        account.savings.addReferences({
          authoredChars: source.length,
          resolvedChars: text.length,
        }),
      onUnresolved: (unresolved) =>
        emit({ type: "data-unresolved", data: unresolved, transient: true }),
    });
  }

  #emitText(id: string) {
    return (text: string) => {
      this.#options.state.parts.show(id, text);
      for (const delta of slicesOf(text, limits.maxSliceChars)) {
        this.#context.emit({ type: "text-delta", id, delta });
      }
    };
  }
}

/** Where an answer's references are looked up. What it refers to is held until its turn ends. */
export function lookupOf(store: VariableStore, { state, scope, onUsed }: AnswerOptions): Lookup {
  return lookupFor(scope, store, {
    failures: "show",
    onUsed: (name) => {
      store.holds.hold(state.id, name);
      onUsed?.(name);
    },
  });
}
