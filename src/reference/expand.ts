import { compact, isScalar } from "../value/json.ts";
import { codeOf, type ErrorCode, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { slicesOf } from "../value/characters.ts";
import { charsOf } from "../value/json-text.ts";
import { LookupWork, type Found, type Lookup, type Missing } from "./lookup.ts";
import type { Reference, Syntax } from "./reference.ts";
import { printValue } from "./print-value.ts";
import { type ReferencePiece, Scanner, type ScannerOptions } from "./scanner.ts";
import { pickSyntaxes, type SyntaxName } from "./syntaxes.ts";
import { UrlTracker } from "./url-tracker.ts";

/** A reference that stays as written, with the reason. */
export interface Unresolved {
  readonly reference: string;
  readonly code: ErrorCode;
  /** `url`: the value exists, but would become part of a URL or HTML tag. */
  readonly reason?: "url";
  readonly message?: string;
  readonly near?: readonly string[];
}

/** The value that replaced a reference. */
export interface Origin {
  readonly reference: Reference;
  /** A miss for a secret, of which only the name is shown. */
  readonly answer: Found | Missing;
}

/** Selects the references of a response that are replaced. */
export interface ExpandOptions extends Omit<ScannerOptions, "syntaxes"> {
  /** Default: dollar only. */
  readonly syntaxes?: readonly (SyntaxName | Syntax)[];
  /**
   * Resolves references inside URLs, link destinations and tags too. A model can then be made to leak data.
   * Default: false.
   */
  readonly inUrls?: boolean;
  /** The budget of one response, shared by its texts. Default: a separate budget. */
  readonly budget?: ExpansionBudget;
  /** The state of the output so far, if several texts form one response. Default: none. */
  readonly urls?: UrlTracker;
  /** Called for each reference to a known name that stays as written. Must not throw. */
  readonly onUnresolved?: (unresolved: Unresolved) => void;
  /** Called for each replaced reference, just before its text is emitted. Must not throw. */
  readonly onResolved?: (source: string, text: string, origin: Origin) => void;
}

/** The text that the references of a response may still add, and the work of looking them up. */
export interface ExpansionBudget {
  /** Characters. */
  leftChars: number;
  /** Default: separate work. */
  readonly work?: LookupWork;
}

/** Receives expanded text, in order. */
type Emit = (text: string) => void;

/**
 * Expands the references of one text, chunk by chunk. The joined output does not depend on where the text
 * is cut. If `write` or `flush` returns a promise, await it before the next call.
 */
export class Expander {
  readonly #lookup: Lookup;
  readonly #options: ExpandOptions;
  readonly #scanner: Scanner;
  readonly #urls: UrlTracker | undefined;
  readonly #budget: ExpansionBudget;
  readonly #work: LookupWork;

  constructor(lookup: Lookup, options: ExpandOptions = {}) {
    this.#lookup = lookup;
    this.#options = options;
    this.#budget = options.budget ?? { leftChars: limits.maxInsertedChars };
    this.#work = this.#budget.work ?? new LookupWork();
    this.#urls = options.inUrls === true ? undefined : (options.urls ?? new UrlTracker());
    this.#scanner = new Scanner({ ...options, syntaxes: pickSyntaxes(options.syntaxes) });
  }

  /** The number of characters held back now; at most `maxHeldChars`. */
  get heldChars(): number {
    return this.#scanner.heldChars;
  }

  write(chunk: string, emit: Emit): void | Promise<void> {
    this.#scanner.feed(chunk);
    return this.#drain(emit);
  }

  /** Decides and emits held text. The text may continue afterwards. */
  flush(emit: Emit): void | Promise<void> {
    this.#scanner.end();
    return this.#drain(emit);
  }

  /** Stays synchronous while the lookup does, so that a delta costs no promise. */
  #drain(emit: Emit): void | Promise<void> {
    for (let piece = this.#scanner.next(); piece !== undefined; piece = this.#scanner.next()) {
      if (typeof piece === "string") {
        this.#put(piece, emit);
        continue;
      }
      const answer = this.#needsLookup(piece) ? this.#lookup(piece.reference, this.#work) : KNOWN;
      if ("then" in answer) return this.#finishLater(piece, answer, emit);
      this.#finish(piece, answer, emit);
    }
    return undefined;
  }

  #isInUrl({ next }: ReferencePiece): boolean {
    return this.#urls !== undefined && (this.#urls.isOpen || this.#urls.isOpenWith(next));
  }

  /** In a URL, only the report depends on the lookup: an unknown name is plain text. */
  #needsLookup(piece: ReferencePiece): boolean {
    const { isKnown, onUnresolved } = this.#options;
    return !this.#isInUrl(piece) || (isKnown === undefined && onUnresolved !== undefined);
  }

  async #finishLater(piece: ReferencePiece, answer: Promise<Found | Missing>, emit: Emit) {
    this.#finish(piece, await answer, emit);
    await this.#drain(emit);
  }

  #finish(piece: ReferencePiece, answer: Found | Missing, emit: Emit): void {
    const isUnknown = !answer.found && answer.reason === "unknown";
    if (isUnknown || this.#isInUrl(piece)) {
      const isReported = !isUnknown && !piece.escaped;
      if (isReported) this.#options.onUnresolved?.({ reference: piece.source, ...IN_URL });
      this.#put(this.#scanner.reject(), emit);
      return;
    }
    this.#scanner.accept();
    const asWritten = piece.escaped ? `\\${piece.source}` : piece.source;
    const resolves = answer.found || answer.reason === "secret";
    if (!resolves) {
      if (!piece.escaped) this.#options.onUnresolved?.(unresolvedFrom(piece.source, answer));
      this.#put(asWritten, emit);
    } else if (piece.escaped) {
      this.#put(piece.source, emit);
    } else {
      this.#expand(piece, answer, emit);
    }
  }

  #expand(piece: ReferencePiece, answer: Found | Missing, emit: Emit): void {
    const text = this.#render(piece, answer);
    if (text === undefined) {
      this.#put(piece.source, emit);
      return;
    }
    this.#budget.leftChars -= text.length;
    this.#options.onResolved?.(piece.source, text, { reference: piece.reference, answer });
    this.#put(text, emit);
  }

  /** Renders the reference's value. Returns undefined, with a report, if it must not be inserted. */
  #render(piece: ReferencePiece, answer: Found | Missing): string | undefined {
    try {
      if (answer.found && !isScalar(answer.value)) {
        this.#work.spend(answer.chars ?? charsOf(answer.value, limits.maxReadWork));
      }
      const text = answer.found
        ? printValue(piece, answer, this.#urls)
        : `[secret: ${piece.reference.name}]`;
      if (text === undefined || this.#urls?.wouldContain(text) === true) {
        this.#options.onUnresolved?.({ reference: piece.source, ...IN_URL });
        return undefined;
      }
      if (text.length <= this.#budget.leftChars) return text;
      // Later references stay as written too, however small.
      this.#budget.leftChars = 0;
      this.#reportLimit(piece, TOO_LONG);
    } catch (error) {
      if (codeOf(error) !== "limit_exceeded") throw error;
      this.#reportLimit(piece, messageOf(error));
    }
    return undefined;
  }

  #reportLimit({ source }: ReferencePiece, message: string): void {
    this.#options.onUnresolved?.({ reference: source, code: "limit_exceeded", message });
  }

  #put(text: string, emit: Emit): void {
    if (text === "") return;
    this.#urls?.feed(text);
    emit(text);
  }
}

const KNOWN: Found = { found: true, value: null };
const IN_URL = { code: "reference_in_url", reason: "url" } as const;
const TOO_LONG = `An answer's references may add ${limits.maxInsertedChars} characters; name a part of the value instead.`;

function unresolvedFrom(reference: string, missing: Missing): Unresolved {
  const { message, near } = missing;
  return {
    reference,
    code: missing.code ?? (missing.reason === "evicted" ? "variable_evicted" : "path_not_found"),
    ...compact({ message, near }),
  };
}

/**
 * Creates a stream that replaces references to variables known to `lookup` by their values. A long value leaves it in
 * slices of at most `maxPieceChars`, without splitting surrogate pairs; while as much is unread, the stream accepts no
 * further text. An error of `lookup` fails both sides.
 */
export function expandText(
  lookup: Lookup,
  options: ExpandOptions = {},
): TransformStream<string, string> {
  const expander = new Expander(lookup, options);
  const slicesTo =
    (controller: TransformStreamDefaultController<string>): Emit =>
    (text) => {
      for (const slice of slicesOf(text, limits.maxPieceChars)) controller.enqueue(slice);
    };
  return new TransformStream<string, string>(
    {
      transform: (chunk, controller) => expander.write(chunk, slicesTo(controller)),
      flush: (controller) => expander.flush(slicesTo(controller)),
    },
    undefined,
    { highWaterMark: limits.maxPieceChars, size: (text) => text.length },
  );
}

/** Expands a text that arrives in pieces, without a stream. */
export interface PushExpander {
  /**
   * Takes the next piece, cut anywhere, and returns the text that is complete: a reference is held back until
   * its end is known. Wait for the result before the next call.
   */
  push(piece: string): Promise<string>;
  /** Returns the rest. Call it once, at the end of the text. */
  end(): Promise<string>;
}

/** Creates an expander for a loop that passes on pieces of text itself; see `expandText` for streams. */
export function createExpander(lookup: Lookup, options: ExpandOptions = {}): PushExpander {
  const expander = new Expander(lookup, options);
  const collected = async (work: (emit: Emit) => void | Promise<void>) => {
    let text = "";
    await work((slice) => {
      text += slice;
    });
    return text;
  };
  return {
    push: (piece) => collected((emit) => expander.write(piece, emit)),
    end: () => collected((emit) => expander.flush(emit)),
  };
}
