import * as limits from "../limits.ts";
import { slicesOf } from "../value/characters.ts";
import { type Emit, Expander, type ExpandOptions } from "./expand.ts";
import type { Lookup } from "./lookup.ts";

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
