import { expandText, formatPath } from "../../../src/references.ts";

interface Written {
  readonly source: string;
  readonly name: string;
  readonly path: string;
}

/** Between the literal pieces of a text. */
const HOLE = "\uE002";

/** Literal pieces, one more than references, which stand between them. */
export interface Pieces {
  readonly literals: readonly string[];
  readonly references: readonly Written[];
}

/** The text as the engine reads it: what is in code or in a URL is no reference. */
export async function piecesOf(text: string): Promise<Pieces> {
  if (text.includes(HOLE)) return { literals: [text], references: [] };
  const found: { name: string; path: string }[] = [];
  const sources: string[] = [];
  const expanded = expandText(
    ({ name, path }) => {
      found.push({ name, path: formatPath(path) });
      return { found: true, value: HOLE };
    },
    { onResolved: (source) => sources.push(source) },
  );
  const writer = expanded.writable.getWriter();
  void writer.write(text).then(() => writer.close());
  let whole = "";
  const reader = expanded.readable.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) whole += part.value;
  const literals = whole.split(HOLE);
  // An escaped reference is looked up, too, and is none.
  const isKnown = found.length === sources.length && literals.length === sources.length + 1;
  if (!isKnown) return { literals: [text], references: [] };
  const references = found.map((reference, index) => ({
    ...reference,
    source: sources[index] ?? "",
  }));
  return { literals, references };
}
