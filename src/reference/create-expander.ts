import { Expander, type ExpandOptions } from "./expand.ts";
import type { Lookup } from "./lookup.ts";

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
  const collected = async (work: (emit: (slice: string) => void) => void | Promise<void>) => {
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
