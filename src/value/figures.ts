/** A number in a text. Positions are in UTF-16 code units. */
export interface Figure extends Range {
  readonly text: string;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Stands for a covered character, so that the text around it does not join. */
const COVERED = "\uFFFC";

/**
 * A name, or a number: digits with separators inside, as in 1,049,023.99, 12 345, 2026-03-01 or 10:30. Emphasis
 * and invisible characters do not separate digits. Digits that follow a letter belong to a name, such as
 * ord_00009 or v2.14.
 */
const NAME_OR_NUMBER =
  /\p{L}[\p{L}\p{N}_]*(?:[-.][\p{L}\p{N}_]+)*|\p{Nd}{1,3}(?:[ \u00a0\u202f'’]\p{Nd}{3})+(?:[.,]\p{Nd}+)?(?!\p{Nd})|\p{Nd}+(?:[-.,:/*_~`\u00ad\u200b-\u200d\u2060\ufeff]{1,4}\p{Nd}+)*/gu;

/**
 * Finds the figures of a text outside of the covered ranges, which are in order: numbers of at least two
 * digits. The number of a list item, of at most three digits, is no figure. Cost: linear.
 */
export function figuresIn(text: string, covered: readonly Range[] = []): readonly Figure[] {
  let visible = "";
  for (const { start, end } of covered) {
    if (start < visible.length) continue;
    visible += text.slice(visible.length, start) + COVERED.repeat(end - start);
  }
  visible += text.slice(visible.length);
  const figures: Figure[] = [];
  for (const { 0: found, index: start } of visible.matchAll(NAME_OR_NUMBER)) {
    const digits = found.replaceAll(/\P{Nd}/gu, "").length;
    if (digits < 2 || !/^\p{Nd}/u.test(found) || isListNumber(visible, start, found)) continue;
    figures.push({ start, end: start + found.length, text: found });
  }
  return figures;
}

/** Leaves out the figures that another text has too, with or without thousands separators. */
export function figuresBeyond<Found extends Figure>(
  figures: readonly Found[],
  known: string,
): readonly Found[] {
  const numbers = new Set(figuresIn(known).map(({ text }) => numberIn(text)));
  return figures.filter(({ text }) => !numbers.has(numberIn(text)));
}

function numberIn(text: string): string {
  return text.replaceAll(/[ ,\u00a0\u202f'’]/gu, "");
}

/** True for the number at the start of a line that `.` or `)` and a space follow. */
function isListNumber(text: string, index: number, found: string): boolean {
  const end = index + found.length;
  if (!/^\p{Nd}{1,3}$/u.test(found) || !/^[.)]\s/u.test(text.slice(end, end + 2))) return false;
  let before = index - 1;
  while (before >= 0 && " \t>*+-".includes(text[before] ?? "")) before--;
  return before < 0 || text[before] === "\n";
}
