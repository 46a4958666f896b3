/** Wrong characters of a copy. */
export interface CopyErrors {
  readonly chars: number;
  readonly errors: number;
}

/** A text with more wrong characters than this share is no copy: it is cut, or something else. */
const MAX_SHARE = 0.05;
/** Above this share of differing characters, and above 20, the text may be shifted. */
const MAX_UNSHIFTED = 0.01;
const MAX_DISTANCE = 1_000;
const MAX_WORK = 20_000_000;

/**
 * Counts the characters that a copy has wrong, too many or too few. Undefined for a text that is no copy.
 * Cost: linear in texts of the same length, and at most 20 million steps in others.
 */
export function copyErrors(expected: string, received: string): CopyErrors | undefined {
  const chars = expected.length;
  const bound = Math.min(Math.ceil(chars * MAX_SHARE), MAX_DISTANCE);
  const maximum = Math.min(bound, Math.ceil(MAX_WORK / Math.max(chars, 1)));
  const isSameLength = expected.length === received.length;
  const different = isSameLength ? differentCharacters(expected, received) : undefined;
  // A character that is missing shifts all others.
  const isShifted = different === undefined || different > Math.max(20, chars * MAX_UNSHIFTED);
  const errors = (isShifted ? distance(expected, received, maximum) : undefined) ?? different;
  const isCopy = errors !== undefined && errors <= Math.ceil(chars * MAX_SHARE);
  return isCopy ? { chars, errors } : undefined;
}

function differentCharacters(a: string, b: string): number {
  let count = 0;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) count++;
  return count;
}

/** The edit distance, up to a maximum, in a band around the diagonal. */
function distance(a: string, b: string, maximum: number): number | undefined {
  if (Math.abs(a.length - b.length) > maximum) return undefined;
  const far = maximum + 1;
  const width = 2 * maximum + 1;
  // `row[k]` is the distance of a[0..i] and b[0..i + k - maximum]. The last one is beyond the band.
  let row = new Int32Array(width + 1).fill(far);
  let next = new Int32Array(width + 1).fill(far);
  for (let k = maximum; k < width; k++) row[k] = k - maximum;
  for (let i = 1; i <= a.length; i++) {
    const code = a.charCodeAt(i - 1);
    for (let k = 0; k < width; k++) {
      const j = i + k - maximum;
      if (j < 0 || j > b.length) {
        next[k] = far;
        continue;
      }
      const removed = (row[k + 1] ?? far) + 1;
      const added = k > 0 ? (next[k - 1] ?? far) + 1 : far;
      const kept = j > 0 ? (row[k] ?? far) + (code === b.charCodeAt(j - 1) ? 0 : 1) : i;
      next[k] = Math.min(removed, added, kept, far);
    }
    [row, next] = [next, row];
  }
  const found = row[b.length - a.length + maximum] ?? far;
  return found > maximum ? undefined : found;
}
