import * as limits from "../limits.ts";
import { slicesOf } from "../value/characters.ts";
import { type Emit, Expander, type ExpandOptions, type ExpansionBudget } from "./expand.ts";
import { type Lookup, LookupWork } from "./lookup.ts";
import { UrlTracker } from "./url-tracker.ts";

interface TextsOptions extends Omit<ExpandOptions, "budget" | "urls"> {
  /** Receives the expanded text in order, in slices of at most `maxSliceChars`. */
  readonly emit: (id: string, slice: string) => void;
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
    leftChars: limits.maxExpansionChars,
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
    return this.#emitJoined(id, (emit) => this.#open.get(id)?.write(delta, emit));
  }

  /** Emits the held text of all open texts. */
  async flush(): Promise<void> {
    for (const [id, expander] of this.#open) {
      await this.#emitJoined(id, (emit) => expander.flush(emit));
    }
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
    const shared = { budget: this.#budget, urls: this.#urls };
    this.#open.set(id, new Expander(this.#lookup, { ...this.#options, ...shared }));
  }

  /**
   * Joins what one delta becomes, so that a reference does not cut it into several. Text before a lookup that
   * takes time is emitted at once.
   */
  #emitJoined(id: string, expand: (emit: Emit) => void | Promise<void>): void | Promise<void> {
    let joined = "";
    const flush = () => {
      const text = joined;
      joined = "";
      for (const slice of slicesOf(text, limits.maxSliceChars)) this.#options.emit(id, slice);
    };
    let working: void | Promise<void>;
    try {
      working = expand((text) => {
        joined += text;
        if (joined.length >= limits.maxSliceChars) flush();
      });
    } finally {
      flush();
    }
    return working?.finally(flush);
  }
}
