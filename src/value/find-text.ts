/** Length up to which the platform's search is fast. It may take up to a piece's length for each character. */
const SHORT_CHARS = 200;

/** Returns where the piece first occurs in the text, or -1. Cost: linear in the text, for any piece. */
export function indexIn(text: string, piece: string): number {
  if (piece.length <= SHORT_CHARS) return text.indexOf(piece);
  const borders = bordersOf(piece);
  let matched = 0;
  let at = 0;
  for (; at < text.length && matched < piece.length; at++) {
    matched = nextMatched(piece, borders, { matched, code: text.charCodeAt(at) });
  }
  return matched === piece.length ? at - matched : -1;
}

/**
 * Returns, for each prefix of the piece, the length of its longest suffix that is also a prefix (Knuth, Morris,
 * Pratt).
 */
export function bordersOf(piece: string): Int32Array {
  const borders = new Int32Array(piece.length + 1);
  for (let at = 1; at < piece.length; at++) {
    const step = { matched: borders[at] ?? 0, code: piece.charCodeAt(at) };
    borders[at + 1] = nextMatched(piece, borders, step);
  }
  return borders;
}

interface Step {
  readonly matched: number;
  readonly code: number;
}

function nextMatched(piece: string, borders: Int32Array, { matched, code }: Step): number {
  let left = matched;
  while (left > 0 && piece.charCodeAt(left) !== code) left = borders[left] ?? 0;
  return piece.charCodeAt(left) === code ? left + 1 : 0;
}
