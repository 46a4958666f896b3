import * as limits from "../limits.ts";
import { slicesOf } from "../value/characters.ts";
import { Expander, type ExpandOptions, type ExpansionBudget, type Origin } from "./expand.ts";
import { type Lookup, LookupWork } from "./lookup.ts";
import { UrlTracker } from "./url-tracker.ts";

interface TextsOptions extends Omit<ExpandOptions, "budget" | "urls" | "onResolved"> {
  /** Receives the expanded text in order, in slices of at most `maxPieceChars`. */
  readonly emit: (id: string, slice: string) => void;
  /** Called for each replaced reference, just before its text is emitted. Must not throw. */
  readonly onPlaced?: (id: string, placed: Placed) => void;
}

/** A reference, and the text in its place. */
export interface Placed extends Origin {
  readonly source: string;
  readonly text: string;
}

/**
 * Expands the texts of one response, several of which may be open at the same time. They share a budget. A
 * client may join them, so a URL that one text opens is open in the next. If a method returns a promise,
 * await it before the next call.
 */
export class TextsExpander {
  readonly #lookup: Lookup;
  readonly #options: TextsOptions;
  readonly #budget: ExpansionBudget = {
    leftChars: limits.maxInsertedChars,
    work: new LookupWork(),
  };
  #urls = new UrlTracker();
  readonly #open = new Map<string, Expander>();

  constructor(lookup: Lookup, options: TextsOptions) {
    this.#lookup = lookup;
    this.#options = options;
  }

  /**
   * Passes on any other part of the stream: a `text-start` before its text, all others after the held text,
   * which a `text-end` closes.
   */
  pass(
    part: { readonly type: string; readonly id?: string },
    emit: () => void,
  ): void | Promise<void> {
    const { type, id = "" } = part;
    if (type === "text-start") this.#start(id);
    if (this.#open.size === 0) return emit();
    return this.flush().then(() => {
      emit();
      if (type === "text-end") this.#open.delete(id);
    });
  }

  /** Writes text. Text for an id that is not open is dropped. */
  write(id: string, delta: string): void | Promise<void> {
    return this.#open.get(id)?.write(delta, this.#emitterOf(id));
  }

  /** Emits the held text of all open texts. */
  async flush(): Promise<void> {
    for (const [id, expander] of this.#open) await expander.flush(this.#emitterOf(id));
  }

  endAll(): void {
    this.#open.clear();
  }

  /** Continues after texts that were already shown. Drops held text. */
  restart(shown: readonly string[]): void {
    this.endAll();
    this.#urls = new UrlTracker();
    for (const text of shown) this.#urls.feed(text);
  }

  #start(id: string): void {
    const own: ExpandOptions = {
      budget: this.#budget,
      urls: this.#urls,
      onResolved: (source, text, origin) =>
        this.#options.onPlaced?.(id, { source, text, ...origin }),
    };
    this.#open.set(id, new Expander(this.#lookup, { ...this.#options, ...own }));
  }

  #emitterOf(id: string) {
    return (text: string) => {
      for (const slice of slicesOf(text, limits.maxPieceChars)) this.#options.emit(id, slice);
    };
  }
}
