/** A CSV as people export it, and what is asked about it. */
export interface MessyFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly delimiter: string;
  readonly questions: readonly Question[];
}

/** The same question in SQLite and in DuckDB, whose columns are all text: there numbers are cast. */
interface Question {
  readonly sqlite: string;
  readonly duckdb: string;
}

interface Cells {
  readonly name: string;
  /** What the column is meant to be, as a type of DuckDB. Default: DOUBLE. */
  readonly type?: "DOUBLE" | "HUGEINT" | "VARCHAR";
  readonly cells: readonly string[];
  /** The number in a cell, in DuckDB. Default: the cell as its type. */
  readonly number?: string;
  /** A value to compare with. */
  readonly bound: string;
}

const CELLS: readonly Cells[] = [
  { name: "integers", cells: ["7", "60", "5", "100"], bound: "50" },
  { name: "decimals", cells: ["7.25", "60.5", "-0.1", "100"], bound: "50" },
  {
    name: "thousands",
    number: "CAST(replace(n, ',', '') AS DOUBLE)",
    cells: ["1,234.50", "20", "3,000", "999"],
    bound: "1000",
  },
  {
    name: "decimal commas",
    number: "CAST(replace(replace(n, '.', ''), ',', '.') AS DOUBLE)",
    cells: ["1.234,50", "12,5", "7,25", "3"],
    bound: "10",
  },
  {
    name: "N/A",
    number: "TRY_CAST(n AS DOUBLE)",
    cells: ["7", "N/A", "60", "100"],
    bound: "50",
  },
  {
    name: "leading zeros",
    cells: ["00150", "10001", "20002", "00007"],
    bound: "5000",
  },
  { name: "spaces", cells: [" 12 ", "7", "100 ", " 60"], bound: "50" },
  {
    name: "currency",
    number: "CAST(replace(replace(n, '$', ''), ',', '') AS DOUBLE)",
    cells: ["$5", "$1,000", "$60", "$7"],
    bound: "50",
  },
  {
    name: "percent",
    number: "CAST(replace(n, '%', '') AS DOUBLE)",
    cells: ["5%", "12%", "100%", "7%"],
    bound: "50",
  },
  { name: "empty cells", cells: ["7", "", "60", ""], bound: "50" },
  {
    name: "empty cells and words",
    number: "TRY_CAST(n AS DOUBLE)",
    cells: ["7", "", "60", "-"],
    bound: "50",
  },
  {
    name: "big integers",
    type: "HUGEINT",
    cells: ["9007199254740993", "9007199254740992", "1234567890123456789", "5"],
    bound: "9007199254740992",
  },
  {
    name: "integers beyond 64 bits",
    type: "HUGEINT",
    cells: ["12345678901234567890", "12345678901234567891", "6", "70"],
    bound: "12345678901234567890",
  },
  {
    name: "dates",
    type: "VARCHAR",
    cells: ["2026-01-05", "2025-03-01", "2026-02-07", "2024-12-31"],
    bound: "'2026'",
  },
  {
    name: "mixed types",
    number: "TRY_CAST(n AS DOUBLE)",
    cells: ["7", "6.5", "true", "pending"],
    bound: "5",
  },
  { name: "signs and exponents", cells: ["-5", "1e3", "+7", "60"], bound: "50" },
  { name: "words", type: "VARCHAR", cells: ["won", "lost", "", "open"], bound: "'n'" },
];

interface Shape {
  readonly name: string;
  readonly delimiter?: string;
  /** Returns the text of the file. */
  readonly text: (rows: readonly (readonly string[])[], line: Line) => string;
  readonly encode?: (text: string) => Uint8Array;
}

type Line = (cells: readonly string[]) => string;

const HEADER = ["n", "g", "t"];
const plain = (rows: readonly (readonly string[])[], line: Line, end = "\n") =>
  [HEADER, ...rows].map((row) => line(row) + end).join("");

const SHAPES: readonly Shape[] = [
  { name: "plain", text: (rows, line) => plain(rows, line) },
  { name: "with a BOM", text: (rows, line) => `\ufeff${plain(rows, line)}` },
  { name: "with CRLF", text: (rows, line) => plain(rows, line, "\r\n") },
  { name: "with semicolons", delimiter: ";", text: (rows, line) => plain(rows, line) },
  { name: "with tabs", delimiter: "\t", text: (rows, line) => plain(rows, line) },
  { name: "with sep=;", delimiter: ";", text: (rows, line) => `sep=;\n${plain(rows, line)}` },
  {
    name: "in UTF-16",
    text: (rows, line) => `\ufeff${plain(rows, line)}`,
    encode: (text) => new Uint8Array(Uint16Array.from(text, (one) => one.charCodeAt(0)).buffer),
  },
  {
    name: "with quoted newlines",
    text: (rows, line) =>
      plain(
        rows.map(([n = "", g = "", t]) => [n, g, `${t}\n"a", b`]),
        line,
      ),
  },
  { name: "ragged", text: (rows, line) => plain(rows, line).replace(/,t1\n/, "\n") },
  {
    name: "with duplicate headers",
    text: (rows, line) =>
      plain(
        rows.map((row) => [...row, "x", "y"]),
        line,
      ).replace("n,g,t", "n,g,t,t,t"),
  },
  {
    name: "with empty headers",
    text: (rows, line) =>
      plain(
        rows.map((row) => [...row, "x", "y"]),
        line,
      ).replace("n,g,t", "n,g,t,,"),
  },
  { name: "without a last newline", text: (rows, line) => plain(rows, line).slice(0, -1) },
  {
    name: "with 600 columns",
    text: (rows, line) => {
      const more = Array.from({ length: 597 }, (_, at) => `x${at}`);
      return [[...HEADER, ...more], ...rows.map((row) => [...row, ...more])]
        .map((row) => `${line(row)}\n`)
        .join("");
    },
  },
];

function lineOf(delimiter: string): Line {
  const quoted = (cell: string) =>
    cell.includes(delimiter) || /["\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  return (cells) => cells.map(quoted).join(delimiter);
}

function questionsAbout({
  type = "DOUBLE",
  bound,
  number = `CAST(n AS ${type})`,
}: Cells): readonly Question[] {
  const of = (sql: string): Question => ({
    sqlite: sql.replaceAll("#", "n"),
    duckdb: sql.replaceAll("#", () => (type === "VARCHAR" ? "n" : number)),
  });
  return [
    of("SELECT count(*) FROM f"),
    of("SELECT count(n) FROM f"),
    of("SELECT count(DISTINCT n) FROM f"),
    of("SELECT min(#) FROM f"),
    of("SELECT max(#) FROM f"),
    of(`SELECT count(*) FROM f WHERE # > ${bound}`),
    of(`SELECT count(*) FROM f WHERE # = ${bound}`),
    of("SELECT g, count(*) FROM f GROUP BY g ORDER BY g"),
    of("SELECT # FROM f WHERE n IS NOT NULL ORDER BY # DESC LIMIT 2"),
    of("SELECT count(*) FROM f WHERE n IS NULL"),
    of("SELECT count(*) FROM f WHERE t LIKE 't%'"),
    ...(type === "VARCHAR"
      ? []
      : [
          of("SELECT sum(#) FROM f"),
          of("SELECT avg(#) FROM f"),
          of("SELECT g, max(#) FROM f GROUP BY g ORDER BY g"),
        ]),
  ];
}

/** Each kind of cells in three shapes, so that each shape has several kinds. */
export const messyFiles: readonly MessyFile[] = CELLS.flatMap((cells, at) =>
  [0, 4, 9].map((step): MessyFile => {
    const shape = SHAPES[(at + step) % SHAPES.length];
    if (shape === undefined) throw new Error("There are shapes.");
    const { delimiter = ",", encode = (text: string) => new TextEncoder().encode(text) } = shape;
    // Three times, so that groups have several rows.
    const rows = [...cells.cells, ...cells.cells, ...cells.cells].map((cell, row) => [
      cell,
      `g${row % 3}`,
      `t${row % 5}`,
    ]);
    return {
      name: `${cells.name} ${shape.name}`,
      bytes: encode(shape.text(rows, lineOf(delimiter))),
      delimiter,
      questions: questionsAbout(cells),
    };
  }),
);
