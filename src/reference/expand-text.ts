import { limits } from "../limits.ts";
import { clip } from "../value/json.ts";
import { type ExpandOptions, Expander } from "./expand.ts";
import type { Lookup } from "./reference.ts";

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
  const failed = (error: unknown) => {
    outlet.error(error);
    throw error;
  };
  const writable = new WritableStream<string>({
    write(chunk) {
      try {
        const expanding = expander.write(chunk, outlet.emit);
        return expanding === undefined
          ? outlet.ready()
          : expanding.then(() => outlet.ready()).catch(failed);
      } catch (error) {
        return failed(error);
      }
    },
    async close() {
      await Promise.resolve(expander.flush(outlet.emit)).catch(failed);
      outlet.end();
    },
    abort: (reason) => outlet.error(reason),
  });
  return { readable: outlet.readable, writable };
}

/** The readable side: what is emitted goes straight through while the reader keeps up. */
class Outlet {
  readonly readable: ReadableStream<string>;
  readonly #queue: string[] = [];
  #controller: ReadableStreamDefaultController<string> | undefined;
  /** Characters of the queue's first text that have left. */
  #left = 0;
  #isEnded = false;
  #cancelled: { readonly reason: unknown } | undefined;
  #resume: (() => void) | undefined;

  constructor() {
    this.readable = new ReadableStream<string>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: (controller) => this.#pull(controller),
      cancel: (reason) => {
        this.#cancelled = { reason };
        this.#queue.length = 0;
        this.#resume?.();
      },
    });
  }

  readonly emit = (text: string): void => {
    if (this.#cancelled !== undefined) return;
    const controller = this.#controller;
    const isReady = this.#isReady;
    if (isReady && text.length <= limits.maxSliceChars) {
      controller?.enqueue(text);
      return;
    }
    this.#queue.push(text);
    // A reader that waits already does not ask again.
    if (isReady && controller !== undefined) this.#pull(controller);
  };

  /** When the reader has taken what there was; at once if it keeps up. Rejects if it has gone. */
  ready(): Promise<void> | undefined {
    if (this.#cancelled !== undefined) return Promise.reject(this.#cancelled.reason);
    if (this.#isReady) return undefined;
    return new Promise((resolve, reject) => {
      this.#resume = () => {
        this.#resume = undefined;
        if (this.#cancelled === undefined) resolve();
        else reject(this.#cancelled.reason);
      };
    });
  }

  /** Nothing more is emitted; the stream closes when the queue is empty. */
  end(): void {
    this.#isEnded = true;
    this.#closeIfDone();
  }

  error(reason: unknown): void {
    this.#queue.length = 0;
    this.#controller?.error(reason);
  }

  get #isReady(): boolean {
    return this.#queue.length === 0 && (this.#controller?.desiredSize ?? 0) > 0;
  }

  #pull(controller: ReadableStreamDefaultController<string>): void {
    const [text] = this.#queue;
    if (text !== undefined) {
      const slice = clip(
        text.slice(this.#left, this.#left + limits.maxSliceChars + 1),
        limits.maxSliceChars,
      );
      this.#left += slice.length;
      if (this.#left === text.length) {
        this.#queue.shift();
        this.#left = 0;
      }
      controller.enqueue(slice);
    }
    if (this.#queue.length > 0) return;
    this.#closeIfDone();
    this.#resume?.();
  }

  #closeIfDone(): void {
    if (this.#isEnded && this.#queue.length === 0 && this.#cancelled === undefined) {
      this.#controller?.close();
    }
  }
}
