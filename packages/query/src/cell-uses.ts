/** An instruction of SQLite's virtual machine, as EXPLAIN has it. */
export interface Instruction {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
  readonly p3: number;
  readonly p4: string | null;
  readonly p5: number;
}

/** What a statement takes a column for: numbers, dates, texts of booleans, what it sorts by or tests for NULL. */
export type CellUse = "numbers" | "dates" | "truths" | "order" | "nulls";

/** The text of a boolean. */
export const TRUTH = /^(?:true|false)$/i;
const MARK = "\u0001cell ";

/** Marks a cell, so that the instructions show where it goes. `mark`: any text. */
export function markCell(cell: string, mark: string): string {
  return `nullif(${cell}, '${MARK}${mark.replaceAll("'", "''")}')`;
}

/** What a register holds: cells of these columns as they are, or a number, or a text (empty: not a constant). */
interface Held {
  readonly columns: ReadonlySet<string>;
  readonly isNumber: boolean;
  readonly text?: string | undefined;
}

const NOTHING: Held = { columns: new Set(), isNumber: false };
const NUMBER: Held = { columns: new Set(), isNumber: true };

const CONSTANTS = new Set(["Integer", "Int64", "Real"]);
const ARITHMETIC = new Set(
  "Add Subtract Multiply Divide Remainder BitAnd BitOr ShiftLeft ShiftRight And Or".split(" "),
);
const COMPARISONS = new Set("Eq Ne Lt Le Gt Ge".split(" "));
const DATES = new Set("date time datetime julianday unixepoch strftime".split(" "));
/** Functions that read a number, and those that return the cell without some of its characters. */
const NUMERIC = new Set(
  "abs round ceil ceiling floor trunc sign sqrt pow power exp ln log mod".split(" "),
);
const CLEANING = new Set("replace trim ltrim rtrim nullif lower upper".split(" "));
/** A whole number that is too long for SQLite, and so a text. */
const LONG_NUMBER = /^\d{19,}$/;
const TEXTUAL = new Set(
  "lower upper substr substring trim ltrim rtrim replace hex strftime date time datetime printf format concat".split(
    " ",
  ),
);
const SUMS = new Set(["sum", "avg", "total"]);
/** The affinity from which on a comparison is one of numbers, among the flags of its instruction. */
const [NUMERIC_AFFINITY, AFFINITY_MASK] = [0x43, 0x47];

/**
 * Follows marked cells through the instructions of a statement, as SQLite has understood it. It reads them in the
 * order in which they stand, twice: what it does not know is no use, and a use that is none changes no result. So it
 * does not follow what else is written into a register.
 * Returns the uses of the columns by their marks.
 * `isCleanable`: true if a cell without some of its characters is the same cell.
 */
export function cellUses(
  program: readonly Instruction[],
  isCleanable: (mark: string) => boolean,
): ReadonlyMap<string, ReadonlySet<CellUse>> {
  const reader = new ProgramReader(isCleanable);
  // The constants, to which the first instruction jumps, come first.
  const start = program[0]?.opcode === "Init" ? program[0].p2 : 0;
  for (const _ of [1, 2]) {
    for (const one of [...program.slice(start), ...program.slice(0, start)]) reader.read(one);
  }
  return reader.uses;
}

class ProgramReader {
  readonly #uses = new Map<string, Set<CellUse>>();
  readonly #registers = new Map<number, Held>();
  readonly #records = new Map<number, readonly Held[]>();
  /** What the rows of a cursor have, and how many columns they are sorted by. */
  readonly #cursors = new Map<number, Held[]>();
  readonly #keys = new Map<number, number>();
  /** Cursors that show the rows of others. */
  readonly #shown = new Map<number, number>();
  readonly #sorting = new Set<number>();
  readonly #grouping = new Set<number>();
  /** The cursors from which registers were read. */
  readonly #origins = new Map<number, number>();
  readonly #isCleanable: (mark: string) => boolean;

  constructor(isCleanable: (mark: string) => boolean) {
    this.#isCleanable = isCleanable;
  }

  get uses(): ReadonlyMap<string, ReadonlySet<CellUse>> {
    for (const cursor of this.#sorting) {
      if (this.#grouping.has(cursor)) continue;
      for (const { columns } of this.#rowsOf(cursor).slice(0, this.#keys.get(cursor)))
        this.#note("order", columns);
    }
    return this.#uses;
  }

  read({ opcode, p1, p2, p3, p4, p5 }: Instruction): void {
    if (CONSTANTS.has(opcode)) this.#write(p2, NUMBER);
    else if (opcode === "String8")
      this.#write(p2, { ...NOTHING, text: p4 ?? "", isNumber: LONG_NUMBER.test(p4 ?? "") });
    else if (opcode === "SCopy") this.#write(p2, this.#held(p1));
    else if (opcode === "Copy" || opcode === "Move") {
      const count = opcode === "Copy" ? p3 + 1 : Math.max(p3, 1);
      for (let at = 0; at < count; at++) this.#write(p2 + at, this.#held(p1 + at));
    } else if (ARITHMETIC.has(opcode)) this.#use("numbers", p1, p2);
    else if (COMPARISONS.has(opcode)) {
      this.#compare(this.#held(p1), this.#held(p3), p5);
      if (opcode !== "Eq" && opcode !== "Ne") this.#use("dates", p1, p3);
    } else if (opcode === "If" || opcode === "IfNot" || opcode === "IsTrue" || opcode === "Not")
      this.#use("numbers", p1);
    else if (opcode === "IsNull" || opcode === "NotNull") this.#use("nulls", p1);
    else if (opcode === "Function" || opcode === "PureFunc") this.#call(p4, p2, p3);
    else if (opcode.startsWith("Agg")) this.#aggregate(opcode, { p2, p3, p4 });
    else this.#readRows(opcode, { p1, p2, p3, p4 });
  }

  #readRows(opcode: string, { p1, p2, p3, p4 }: Operands): void {
    if (opcode === "MakeRecord") {
      this.#records.set(
        p3,
        Array.from({ length: p2 }, (_, at) => this.#held(p1 + at)),
      );
    } else if (opcode === "Insert" || opcode === "IdxInsert" || opcode === "SorterInsert") {
      const rows = this.#rowsOf(p1);
      for (const [at, held] of (this.#records.get(p2) ?? []).entries())
        rows[at] = joined(rows[at] ?? held, held);
    } else if (opcode === "Column") {
      this.#write(p3, this.#rowsOf(p1)[p2] ?? NOTHING);
      this.#origins.set(p3, this.#cursorOf(p1));
    } else if (opcode === "SorterData") this.#shown.set(p3, p1);
    else if (opcode === "OpenDup") this.#shown.set(p1, p2);
    else if (opcode === "Sort" || opcode === "SorterSort") this.#sorting.add(p1);
    else if (opcode === "SorterOpen" || opcode === "OpenEphemeral") {
      this.#keys.set(p1, Number(/^k\((\d+)/.exec(p4 ?? "")?.[1] ?? 0));
    } else if (opcode === "Compare") {
      for (let at = p2; at < p2 + p3; at++) {
        const origin = this.#origins.get(at);
        if (origin !== undefined) this.#grouping.add(origin);
      }
    } else if (opcode === "Found" || opcode === "NotFound" || opcode === "NoConflict") {
      for (const [at, listed] of this.#rowsOf(p1).entries())
        this.#compare(this.#held(p3 + at), listed, 0);
    }
  }

  #compare(a: Held, b: Held, flags: number): void {
    const isNumeric = (flags & AFFINITY_MASK) >= NUMERIC_AFFINITY;
    for (const [{ columns }, other] of [[a, b] as const, [b, a] as const]) {
      if (isNumeric || other.isNumber) this.#note("numbers", columns);
      if (TRUTH.test(other.text ?? "")) this.#note("truths", columns);
    }
  }

  #call(signature: string | null, first: number, result: number): void {
    const { name, count } = signatureOf(signature);
    const { text = "" } = this.#held(first + 1);
    if (DATES.has(name)) this.#use("dates", name === "strftime" ? first + 1 : first);
    if (name === "like") this.#compare(this.#held(first), this.#held(first + 1), 0);
    if (name === "nullif" && text.startsWith(MARK)) {
      this.#write(result, { ...NOTHING, columns: new Set([text.slice(MARK.length)]) });
    } else if (NUMERIC.has(name)) {
      this.#use("numbers", ...Array.from({ length: count }, (_, at) => first + at));
      this.#write(result, NUMBER);
    } else {
      const { columns } = CLEANING.has(name) ? this.#held(first) : NOTHING;
      const text = TEXTUAL.has(name) ? "" : undefined;
      this.#write(result, {
        ...NOTHING,
        columns: new Set([...columns].filter(this.#isCleanable)),
        text,
      });
    }
  }

  #aggregate(opcode: string, { p2, p3, p4 }: Omit<Operands, "p1">): void {
    if (opcode === "AggFinal" || opcode === "AggValue") return;
    const { name, count } = signatureOf(p4);
    const isExtreme = (name === "min" || name === "max") && count === 1;
    if (SUMS.has(name)) this.#use("numbers", p2);
    if (isExtreme) this.#use("order", p2);
    if (isExtreme || (name === "count" && count === 1)) this.#use("nulls", p2);
    const isNumber = SUMS.has(name) || name === "count";
    this.#write(p3, isExtreme ? this.#held(p2) : isNumber ? NUMBER : NOTHING);
  }

  #use(use: CellUse, ...registers: readonly number[]): void {
    for (const register of registers) this.#note(use, this.#held(register).columns);
  }

  #note(use: CellUse, columns: Iterable<string>): void {
    for (const column of columns)
      this.#uses.set(column, new Set([...(this.#uses.get(column) ?? []), use]));
  }

  #held(register: number): Held {
    return this.#registers.get(register) ?? NOTHING;
  }

  #write(register: number, held: Held): void {
    this.#registers.set(register, held);
    this.#origins.delete(register);
  }

  #cursorOf(cursor: number): number {
    return this.#shown.get(cursor) ?? cursor;
  }

  #rowsOf(cursor: number): Held[] {
    const own = this.#cursorOf(cursor);
    const rows = this.#cursors.get(own) ?? [];
    this.#cursors.set(own, rows);
    return rows;
  }
}

type Operands = Pick<Instruction, "p1" | "p2" | "p3" | "p4">;

function joined(a: Held, b: Held): Held {
  const isText = a.text !== undefined && b.text !== undefined;
  return {
    columns: new Set([...a.columns, ...b.columns]),
    isNumber: a.isNumber || b.isNumber,
    // A list of texts counts as a truth if one of them is.
    text: isText && TRUTH.test(b.text) ? b.text : isText ? a.text : undefined,
  };
}

/** Splits `name(2)`. */
function signatureOf(signature: string | null): { readonly name: string; readonly count: number } {
  const [, name = "", count = "0"] = /^(\w+)\((-?\d+)\)$/.exec(signature ?? "") ?? [];
  return { name: name.toLowerCase(), count: Number(count) };
}
