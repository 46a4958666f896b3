import * as limits from "../limits.ts";

const MAX_SHOWN = 3;
const MAX_WORD_CHARS = 64;
/** Maximum edit distance of similar words. Also bounds the number of compared cells. */
const MAX_DISTANCE = 5;

/**
 * Returns at most three candidates similar to the wanted word, nearest first: the edit distance
 * (Levenshtein) is at most a third of its length and at most 5, ignoring case. Compares at most 1,000
 * candidates.
 */
export function nearest(wanted: string, candidates: Iterable<string>): readonly string[] {
  if (wanted.length > MAX_WORD_CHARS) return [];
  const word = wanted.toLowerCase();
  const bound = Math.min(Math.max(1, Math.floor(word.length / 3)), MAX_DISTANCE);
  const scored: { candidate: string; distance: number }[] = [];
  let compared = 0;
  for (const candidate of candidates) {
    if (compared++ >= limits.maxItems) break;
    if (Math.abs(candidate.length - word.length) > bound) continue;
    const distance = editDistance(word, candidate.toLowerCase(), bound);
    if (distance <= bound) scored.push({ candidate, distance });
  }
  scored.sort((a, b) => a.distance - b.distance);
  return scored.slice(0, MAX_SHOWN).map(({ candidate }) => candidate);
}

/** Returns the distance, or any larger number if it exceeds the bound: cells further apart are not computed. */
function editDistance(a: string, b: string, bound: number): number {
  const row = Uint8Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const first = Math.max(1, i - bound);
    let diagonal = row[first - 1] ?? 0;
    row[first - 1] = i > bound ? FAR : i;
    for (let j = first; j <= Math.min(b.length, i + bound); j++) {
      const above = row[j] ?? 0;
      const replaced = diagonal + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(replaced, above + 1, (row[j - 1] ?? 0) + 1);
      diagonal = above;
    }
  }
  return row[b.length] ?? 0;
}

/** Larger than any relevant distance. One more still fits into a byte. */
const FAR = 200;
