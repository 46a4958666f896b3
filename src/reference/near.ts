const MAX_COMPARED = 1_000;
const MAX_SHOWN = 3;
const MAX_WORD_CHARS = 64;

/**
 * At most three candidates that are nearly the wanted word: edit distance (Levenshtein) at most a third
 * of its length, case ignored; nearest first. At most 1,000 candidates are compared.
 */
export function nearest(wanted: string, candidates: Iterable<string>): readonly string[] {
  if (wanted.length > MAX_WORD_CHARS) return [];
  const word = wanted.toLowerCase();
  const bound = Math.max(1, Math.floor(word.length / 3));
  const scored: { candidate: string; distance: number }[] = [];
  let compared = 0;
  for (const candidate of candidates) {
    if (compared++ >= MAX_COMPARED) break;
    if (Math.abs(candidate.length - word.length) > bound) continue;
    const distance = editDistance(word, candidate.toLowerCase());
    if (distance <= bound) scored.push({ candidate, distance });
  }
  scored.sort((a, b) => a.distance - b.distance);
  return scored.slice(0, MAX_SHOWN).map(({ candidate }) => candidate);
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
