import * as limits from "../limits.ts";
import { clip } from "../value/characters.ts";
import { Expander, type ExpandOptions } from "./expand.ts";
import type { Lookup } from "./lookup.ts";

/**
 * Text in, text out: references to variables that `lookup` knows are replaced by their values. A long
 * value leaves in slices of at most `maxSliceChars`, none of which cuts a surrogate pair, each when the
 * reader asks for it; until then nothing more is taken in. What `lookup` throws fails both sides.
 */
export function expandText(
  lookup: Lookup,
  options: ExpandOptions = {},
): TransformStream<string, string> {
  const expander = new Expander(lookup, options);
  const outlet = new Outlet();
  /** Stays synchronous where the lookup does. */
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
 * The readable side. A reader that waits gets what is emitted at once; what it does not ask for yet is
 * joined, so that deltas that are ready together leave together. Holds about one slice.
 */
class Outlet {
  readonly readable: ReadableStream<string>;
  #controller: ReadableStreamDefaultController<string> | undefined;
  #waiting = "";
  /** The reader asked, and there was nothing. */
  #isAsked = false;
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
          this.#isAsked = true;
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

  /** When there is room again; at once if there is. Rejects if the reader has gone. */
  ready(): Promise<void> | undefined {
    if (this.#cancelled !== undefined) return Promise.reject(this.#cancelled.reason);
    if (this.#waiting.length < limits.maxSliceChars) return undefined;
    return new Promise((resolve, reject) => {
      this.#resume = () => {
        this.#resume = undefined;
        if (this.#cancelled === undefined) resolve();
        else reject(this.#cancelled.reason);
      };
    });
  }

  /** Nothing more is emitted; the stream closes when all of it has left. */
  end(): void {
    this.#isEnded = true;
    this.#serve();
  }

  error(reason: unknown): void {
    this.#waiting = "";
    this.#controller?.error(reason);
  }

  #serve(): void {
    if (this.#isAsked && this.#waiting !== "") {
      const slice = clip(this.#waiting, limits.maxSliceChars);
      this.#waiting = this.#waiting.slice(slice.length);
      this.#isAsked = false;
      this.#controller?.enqueue(slice);
    }
    if (this.#waiting.length < limits.maxSliceChars) this.#resume?.();
    const isDone = this.#isEnded && this.#waiting === "" && this.#cancelled === undefined;
    if (isDone) this.#controller?.close();
  }
}
