import * as limits from "../limits.ts";
import { clip } from "../value/characters.ts";
import { Expander, type ExpandOptions } from "./expand.ts";
import type { Lookup } from "./lookup.ts";

/**
 * Creates a stream that replaces references to variables known to `lookup` by their values. A long value is
 * emitted in slices of at most `maxPieceChars`, without splitting surrogate pairs, as the reader requests
 * them; until then the stream accepts no further text. An error of `lookup` fails both sides.
 */
export function expandText(
  lookup: Lookup,
  options: ExpandOptions = {},
): TransformStream<string, string> {
  const expander = new Expander(lookup, options);
  const outlet = new Outlet();
  /** Stays synchronous if the lookup is synchronous. */
  const expanding = (work: () => void | Promise<void>): void | Promise<void> => {
    try {
      const working = work();
      return working === undefined ? undefined : working.catch(failed);
    } catch (error) {
      return failed(error);
    }
  };
  const failed = (error: unknown): never => {
    outlet.error(error);
    throw error;
  };
  const writable = new WritableStream<string>({
    write(chunk) {
      const writing = expanding(() => expander.write(chunk, outlet.emit));
      return writing === undefined ? outlet.ready() : writing.then(() => outlet.ready());
    },
    async close() {
      await expanding(() => expander.flush(outlet.emit));
      outlet.end();
    },
    abort: (reason) => outlet.error(reason),
  });
  return { readable: outlet.readable, writable };
}

/**
 * The readable side. A waiting reader receives emitted text at once. Text that has not been requested is
 * joined, so that deltas that are ready at the same time are delivered together. Holds about one slice.
 */
class Outlet {
  readonly readable: ReadableStream<string>;
  #controller: ReadableStreamDefaultController<string> | undefined;
  #waiting = "";
  /** True if the reader requested text and none was available. */
  #isRequested = false;
  #isEnded = false;
  #cancelled: { readonly reason: unknown } | undefined;
  #resume: (() => void) | undefined;

  constructor() {
    this.readable = new ReadableStream<string>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#isRequested = true;
          this.#serve();
        },
        cancel: (reason) => {
          this.#cancelled = { reason };
          this.#waiting = "";
          this.#resume?.();
        },
      },
      { highWaterMark: 0 },
    );
  }

  readonly emit = (text: string): void => {
    if (this.#cancelled !== undefined) return;
    this.#waiting += text;
    this.#serve();
  };

  /** Resolves when there is room; undefined if there is room now. Rejects if the reader has cancelled. */
  ready(): Promise<void> | undefined {
    if (this.#cancelled !== undefined) return Promise.reject(this.#cancelled.reason);
    if (this.#waiting.length < limits.maxPieceChars) return undefined;
    return new Promise((resolve, reject) => {
      this.#resume = () => {
        this.#resume = undefined;
        if (this.#cancelled === undefined) resolve();
        else reject(this.#cancelled.reason);
      };
    });
  }

  /** Ends the text. The stream closes when all text has been delivered. */
  end(): void {
    this.#isEnded = true;
    this.#serve();
  }

  error(reason: unknown): void {
    this.#waiting = "";
    this.#controller?.error(reason);
  }

  #serve(): void {
    if (this.#isRequested && this.#waiting !== "") {
      const slice = clip(this.#waiting, limits.maxPieceChars);
      this.#waiting = this.#waiting.slice(slice.length);
      this.#isRequested = false;
      this.#controller?.enqueue(slice);
    }
    if (this.#waiting.length < limits.maxPieceChars) this.#resume?.();
    const isDone = this.#isEnded && this.#waiting === "" && this.#cancelled === undefined;
    if (isDone) this.#controller?.close();
  }
}
