/** In the order in which they are thought of. */
const DELIMITERS = [",", ";", "\t", "|"];
/** Rows that a delimiter is known by. */
const LOOKED_AT = 10;

/** The cells of a CSV, row by row, without empty rows. Throws what is broken, with its line. */
export function csvRows(text: string): readonly (readonly string[])[] {
  const own = text.replace(/^\uFEFF/, "");
  return [...rowsOf(own, delimiterOf(own))];
}

/** The one that cuts all of the first rows, into the most cells. */
function delimiterOf(text: string): string {
  const cuts = DELIMITERS.map((delimiter) => {
    const widths = firstWidths(text, delimiter);
    return { delimiter, cells: widths.length === 0 ? 0 : Math.min(...widths) };
  });
  return cuts.reduce((best, cut) => (cut.cells > best.cells ? cut : best)).delimiter;
}

function firstWidths(text: string, delimiter: string): readonly number[] {
  const widths: number[] = [];
  try {
    for (const row of rowsOf(text, delimiter)) {
      if (widths.push(row.length) === LOOKED_AT) break;
    }
  } catch {
    // Said of the one that is taken.
  }
  return widths;
}

function* rowsOf(text: string, delimiter: string): Generator<readonly string[], void> {
  let row: string[] = [];
  let at = 0;
  for (const [all, quoted, plain = "", end = ""] of text.matchAll(cellsBetween(delimiter))) {
    at += all.length;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === delimiter) continue;
    if (row.some((cell) => cell.trim() !== "")) yield row;
    row = [];
  }
  if (at < text.length) {
    const line = text.slice(0, at).split(/\r\n?|\n/).length;
    throw new Error(`Line ${line}: a quote is not closed, or something follows where it is.`);
  }
}

/** A cell, in quotes (where a quote is written twice) or as it is, and what ends it. */
function cellsBetween(delimiter: string): RegExp {
  const mark = `\\${delimiter}`;
  const cell = `"([^"]*(?:""[^"]*)*)"|((?!")[^\\r\\n${mark}]*)`;
  return new RegExp(`(?:${cell})(${mark}|\\r\\n?|\\n|$)`, "gy");
}
