import type { UIMessageChunk } from "ai";
import { TextsExpander } from "../reference/expand-texts.ts";
import type { Lookup } from "../reference/lookup.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { lookupFor, ScopedStore } from "../tool/scoped-store.ts";
import { knownNamesOf } from "../tool/store-lookup.ts";
import type { RunScope } from "../tool/wrapped-tool.ts";
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
  readonly #emit: TurnContext["emit"];
  readonly #texts: TextsExpander;

  constructor(context: TurnContext, options: AnswerOptions) {
    const { agent, account, emit } = context;
    const { parts } = options.state;
    const { unknown: _unknown, ...references } = agent.references ?? {};
    this.#emit = emit;
    this.#texts = new TextsExpander(lookupOf(context.store, options), {
      ...references,
      ...knownNamesOf(new ScopedStore(context.store, options.scope)),
      onResolved: (source, text) =>
        account.savings.addReferences({
          authoredChars: source.length,
          resolvedChars: text.length,
        }),
      onUnresolved: (unresolved) =>
        emit({ type: "data-unresolved", data: unresolved, transient: true }),
      emit: (id, delta) => {
        parts.show(id, delta);
        emit({ type: "text-delta", id, delta });
      },
    });
  }

  /** Await what is returned, if anything, before the next call. */
  write(chunk: UIMessageChunk): void | Promise<void> {
    if (chunk.type === "text-delta") return this.#writeText(chunk);
    if (chunk.type === "text-start") this.#texts.start(chunk.id);
    if (!this.#texts.hasOpen) return this.#emit(chunk);
    return this.#writeOther(chunk);
  }

  /** Emits what is held: at the end, at an error, when stopped. */
  flush(): Promise<void> {
    return this.#texts.flush();
  }

  /** Ends a step: a text that was left open does not continue in the next. */
  async endStep(): Promise<void> {
    await this.#texts.flush();
    this.#texts.endAll();
  }

  /** Continues after these texts, which were shown; what is held is dropped. */
  restart(shown: readonly string[]): void {
    this.#texts.restart(shown);
  }

  #writeText(chunk: Extract<UIMessageChunk, { type: "text-delta" }>): void | Promise<void> {
    const { id, delta, providerMetadata } = chunk;
    if (providerMetadata !== undefined) this.#emit({ ...chunk, delta: "" });
    return this.#texts.write(id, delta);
  }

  async #writeOther(chunk: UIMessageChunk): Promise<void> {
    await this.#texts.flush();
    this.#emit(chunk);
    if (chunk.type === "text-end") this.#texts.end(chunk.id);
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
