import * as limits from "../limits.ts";
import type { UIMessageChunk } from "ai";
import { type Placed, TextsExpander } from "../reference/expand-texts.ts";
import type { Found, Lookup } from "../reference/lookup.ts";
import { USER } from "../store/user-variables.ts";
import type { VariableInfo } from "../store/variable.ts";
import type { VariableStore } from "../store/variables.ts";
import { lookupFor, ScopedStore } from "../tool/scoped-store.ts";
import { knownNamesOf } from "../tool/store-lookup.ts";
import { digestOf } from "../tool/tool-input.ts";
import type { RunScope } from "../tool/wrapped-tool.ts";
import { compact } from "../value/json.ts";
import { charsOf } from "../value/json-text.ts";
import { formatPath } from "../value/path.ts";
import { referencesOf } from "./agent.ts";
import type { MessageParts } from "./history/message-parts.ts";
import type { Remaker } from "./remake.ts";
import type { TurnState } from "./log/turn-state.ts";
import type { TurnContext } from "./turn-context.ts";

export interface AnswerOptions {
  readonly state: TurnState;
  /** The run whose names the answer uses. Default: the conversation's names. */
  readonly scope?: RunScope | undefined;
  /** Called for each variable that the answer refers to. */
  readonly onUsed?: ((name: string) => void) | undefined;
  /** Makes evicted values again. Default: they are gone. */
  readonly remaker?: Remaker;
}

/**
 * Writes the chunks of an answer. Expands references in texts and passes all other chunks through. Held text
 * is emitted at the end of its text and before any other part. Expanded text never enters the history or a
 * prompt.
 */
export class Answer {
  readonly #emit: (chunk: UIMessageChunk) => void;
  readonly #texts: TextsExpander;
  /** The expanded text of what is written now, which is emitted as one delta. */
  #unsent = { id: "", delta: "" };
  /** References that stay as written and were reported. */
  readonly #reported = new Set<string>();
  readonly #store: VariableStore;
  readonly #parts: MessageParts;
  readonly #remaker: Remaker | undefined;
  /** Digests that are being computed. */
  #digests: Promise<void>[] = [];
  #digestibleChars = limits.maxInsertedChars;

  constructor(context: TurnContext, options: AnswerOptions) {
    const { agent, account, emit } = context;
    const { parts } = options.state;
    this.#store = context.store;
    this.#parts = parts;
    this.#remaker = options.remaker;
    const { unknown: _unknown, ...references } = referencesOf(agent);
    this.#emit = emit;
    this.#texts = new TextsExpander(lookupOf(context.store, options), {
      ...references,
      ...knownNamesOf(new ScopedStore(context.store, options.scope)),
      onUnresolved: (unresolved) => {
        const { reference } = unresolved;
        // The stream of an answer must not be many times as long as what the model wrote.
        if (this.#reported.size >= limits.maxItems || this.#reported.has(reference)) return;
        this.#reported.add(reference);
        emit({ type: "data-unresolved", data: unresolved, transient: true });
      },
      onPlaced: (id, placed) => {
        const { source, text } = placed;
        account.addReferences({ authoredChars: source.length, resolvedChars: text.length });
        this.#place(id, placed);
      },
      emit: (id, delta) => {
        parts.show(id, delta);
        const { id: last, delta: unsent } = this.#unsent;
        if (id !== last || unsent.length + delta.length > limits.maxPieceChars) this.#send();
        this.#unsent = { id, delta: this.#unsent.delta + delta };
      },
    });
  }

  /** Writes a chunk. Await the returned promise, if any, before the next call. */
  write(chunk: UIMessageChunk): void | Promise<void> {
    let writing;
    if (chunk.type === "text-delta") {
      const { id, delta, providerMetadata } = chunk;
      if (providerMetadata !== undefined) this.#emit({ ...chunk, delta: "" });
      writing = this.#texts.write(id, delta);
    } else {
      writing = this.#texts.pass(chunk, () => {
        this.#send();
        this.#emit(chunk);
      });
    }
    return writing === undefined ? this.#send() : writing.then(() => this.#send());
  }

  /** Emits held text. Called at the end, after an error, and when the turn is stopped. */
  async flush(): Promise<void> {
    await this.#texts.flush().finally(() => this.#send());
    await Promise.all(this.#digests.splice(0));
  }

  /** Ends a step. A text that is still open does not continue in the next step. */
  async endStep(): Promise<void> {
    await this.flush().finally(() => this.#texts.endAll());
  }

  /** Continues after texts that were already shown. Drops held text. */
  restart(shown: readonly string[]): void {
    this.#texts.restart(shown);
  }

  #send(): void {
    const { id, delta } = this.#unsent;
    this.#unsent = { id, delta: "" };
    if (delta !== "") this.#emit({ type: "text-delta", id, delta });
  }

  /** Records where a value comes from, before its text is shown. */
  #place(id: string, { source, text, reference, answer }: Placed): void {
    const { name, path } = reference;
    const { value, version, name: variable = name }: Partial<Found> = answer.found ? answer : {};
    // The listed metadata is in memory for variables that were used lately.
    const [info] = this.#store.list({ names: [variable] });
    // Another write may have replaced the version that was read.
    const isRead = info !== undefined && info.version === version;
    const { tool, toolCallId: call, updatedAt: at }: Partial<VariableInfo> = isRead ? info : {};
    const remade = this.#remaker?.hasMade(variable) === true ? (true as const) : undefined;
    const origin = { version, tool, call, at, remade };
    // Of `$user.address`, `address` is part of the variable's name.
    const below = variable.startsWith(`${USER}.`) ? path.slice(1) : path;
    const placed = { source, variable, path: formatPath(below), chars: text.length };
    const span = this.#parts.place(id, { ...placed, ...compact(origin) });
    if (span === undefined || value === undefined) return;
    // The first values have digests, as many as take `maxInsertedChars`.
    this.#digestibleChars -= charsOf(value, limits.maxInsertedChars);
    if (this.#digestibleChars < 0) return;
    this.#digests.push(digestOf(value).then((digest) => void (span.digest = digest)));
  }
}

/** Looks up an answer's references. Each variable that the answer refers to is held until the turn ends. */
export function lookupOf(
  store: VariableStore,
  { state, scope, onUsed, remaker }: AnswerOptions,
): Lookup {
  const lookup = lookupFor(scope, store, {
    onUsed: (name) => {
      store.holds.hold(state.id, name);
      onUsed?.(name);
    },
  });
  return (reference, work) => {
    const { name } = reference;
    if (remaker === undefined || scope !== undefined || !remaker.canMake(name))
      return lookup(reference, work);
    return remaker.make([name]).then(() => lookup(reference, work));
  };
}
