import { expandText, formatPath } from "../../../src/references.ts";

interface Written {
  readonly source: string;
  readonly name: string;
  readonly path: string;
}

/** Separates the literal pieces of a text. */
const HOLE = "\uE002";

/** A text split at its references. Has one literal piece more than references. */
export interface Pieces {
  readonly literals: readonly string[];
  readonly references: readonly Written[];
}

/** Splits a text as the engine reads it. References in code and URLs stay text. */
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
  // The engine looks up escaped references too, but they stay text.
  const isKnown = found.length === sources.length && literals.length === sources.length + 1;
  if (!isKnown) return { literals: [text], references: [] };
  const references = found.map((reference, index) => ({
    ...reference,
    source: sources[index] ?? "",
  }));
  return { literals, references };
}
