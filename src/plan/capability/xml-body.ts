/** A stretch of a tag's body: `verbatim` is what stood in CDATA. */
export interface BodyPart {
  readonly text: string;
  readonly verbatim: boolean;
}

/**
 * The body without what the layout of the XML brought in: blanks at either end, and the indentation
 * that all lines behind the first have. A body with CDATA keeps its inside as written; only blanks
 * around the CDATA go.
 */
export function withoutLayout(parts: readonly BodyPart[]): string {
  const last = parts.length - 1;
  if (!parts.some(({ verbatim }) => verbatim)) {
    return withoutIndentation(parts.map(({ text }) => text).join("")).trim();
  }
  return parts
    .map((part, index) => trimmed(part, { first: index === 0, last: index === last }))
    .join("");
}

function trimmed({ text, verbatim }: BodyPart, place: { first: boolean; last: boolean }): string {
  if (verbatim) return text;
  const fromStart = place.first ? text.trimStart() : text;
  return place.last ? fromStart.trimEnd() : fromStart;
}

function withoutIndentation(text: string): string {
  const [first = "", ...lines] = text.split("\n");
  let indentation: string | undefined;
  for (const line of lines) {
    if (line.trim() === "") continue;
    const own = line.slice(0, line.length - line.trimStart().length);
    indentation = indentation === undefined ? own : commonStart(indentation, own);
  }
  const indented = indentation?.length ?? 0;
  const rest = lines.map((line) => (line.trim() === "" ? "" : line.slice(indented)));
  return [first, ...rest].join("\n");
}

function commonStart(left: string, right: string): string {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length++;
  return left.slice(0, length);
}
