import { Expander, type ExpandOptions, type Unresolved } from "../../src/reference/expand.ts";
import type { Lookup } from "../../src/reference/lookup.ts";

/** The text of an answer, what it reports, and the most characters that were held between two pieces. */
interface Expanded {
  readonly text: string;
  readonly unresolved: readonly Unresolved[];
  readonly mostHeld: number;
  readonly heldAtEnd: number;
}

/** Expands a text that is written in these pieces. The lookup must be synchronous. */
export function expanded(
  lookup: Lookup,
  pieces: string | readonly string[],
  options: ExpandOptions = {},
): Expanded {
  const unresolved: Unresolved[] = [];
  const onUnresolved = (one: Unresolved) => void unresolved.push(one);
  const expander = new Expander(lookup, { onUnresolved, ...options });
  let text = "";
  let mostHeld = 0;
  const emit = (slice: string) => void (text += slice);
  for (const piece of typeof pieces === "string" ? [pieces] : pieces) {
    void expander.write(piece, emit);
    mostHeld = Math.max(mostHeld, expander.heldChars);
  }
  void expander.flush(emit);
  return { text, unresolved, mostHeld, heldAtEnd: expander.heldChars };
}

/** Writes the chunks one after another and returns the transform's whole output. */
export async function streamed(
  transform: TransformStream<string, string>,
  chunks: readonly string[],
): Promise<string> {
  const writer = transform.writable.getWriter();
  const writing = (async () => {
    for (const chunk of chunks) await writer.write(chunk);
    await writer.close();
  })();
  let text = "";
  for await (const chunk of transform.readable) text += chunk;
  await writing;
  return text;
}

/**
 * Ways to cut a text: not at all, into characters, at every position into two pieces, and for short texts
 * into three.
 */
export function* cutsOf(text: string): Generator<readonly string[]> {
  yield [text];
  yield text.split("");
  for (let first = 1; first < text.length; first++) {
    yield [text.slice(0, first), text.slice(first)];
    if (text.length >= 60) continue;
    for (let second = first + 1; second < text.length; second++) {
      yield [text.slice(0, first), text.slice(first, second), text.slice(second)];
    }
  }
}
