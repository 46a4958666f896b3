/** Length up to which the platform's search is fast. It may take up to a piece's length for each character. */
const SHORT_CHARS = 200;

/**
 * Returns a function that tests whether a text contains the piece; reuse it for many texts. Cost: linear in
 * the text, for any piece.
 */
export function finderOf(piece: string): (text: string) => boolean {
  if (piece.length <= SHORT_CHARS) return (text) => text.includes(piece);
  const borders = bordersOf(piece);
  return (text) => {
    let matched = 0;
    for (let at = 0; at < text.length && matched < piece.length; at++) {
      matched = nextMatched(piece, borders, { matched, code: text.charCodeAt(at) });
    }
    return matched === piece.length;
  };
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
