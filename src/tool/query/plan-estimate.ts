import type { AliasFacts, PlanFacts, Scan } from "./query-engine.ts";

/** A line of EXPLAIN QUERY PLAN. */
export interface PlanLine {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

export interface EstimateOptions {
  readonly facts: PlanFacts;
  /** Returns the rows of a table by its name in the statement; undefined for another name. */
  readonly rowsOf: (table: string) => number | undefined;
  /** Average and total characters of the largest table. */
  readonly chars: { readonly ofRow: number; readonly all: number };
  /**
   * Returns how many rows of a table at most have the same values in these columns; undefined if that is not
   * known. By default a search visits all rows.
   */
  readonly sameRows?:
    | ((table: string, columns: readonly string[]) => number | undefined)
    | undefined;
  /** Returns how many groups a table has by these columns. Default: one for each row. */
  readonly groups?: ((table: string, columns: readonly string[]) => number | undefined) | undefined;
}

/** The names of tables in the view that the engine makes of chunks. They stand for the table's rows. */
export const CHUNKS = "chunks of ";
export const ELEMENTS = "elements of ";
export const ROWS = "rows of ";

interface Estimate {
  /** The rows that are visited. */
  readonly visits: number;
  /** The rows that it returns at most. */
  readonly rows: number;
}

/** One loop over a table: its name, and the index that selects its rows. */
const LOOP = /^(?:SCAN|SEARCH) (.+?)(?: USING (.*)| VIRTUAL TABLE .*)?$/;

/** An array of this many characters has about one element for each. */
const CHARS_OF_ELEMENT = 8;

/**
 * Estimates the rows that a plan visits: nested loops multiply, and what follows one another adds. The
 * estimate is high where the plan says little.
 */
export class PlanEstimate {
  readonly scans: Scan[] = [];
  /** The searches whose rows are only known from the data. */
  readonly searches: { readonly table: string; readonly columns: readonly string[] }[] = [];
  readonly visits: number;
  readonly #options: EstimateOptions;
  readonly #children = new Map<number, PlanLine[]>();
  /** The rows of what the plan computes first, by name. */
  readonly #computed = new Map<string, number>();
  #stepDepth = 0;
  #visitsOnce = 0;

  constructor(lines: readonly PlanLine[], options: EstimateOptions) {
    this.#options = options;
    for (const line of lines) {
      this.#children.set(line.parent, [...(this.#children.get(line.parent) ?? []), line]);
    }
    this.visits = this.#estimate(0).visits + this.#visitsOnce;
  }

  #estimate(parent: number): Estimate {
    let rows = 1;
    let visits = 0;
    let visitsOfEach = 0;
    let parts: Estimate | undefined;
    for (const { id, detail } of this.#children.get(parent) ?? []) {
      const [, loop, index = ""] = LOOP.exec(detail.replace(/ [A-Z]+-JOIN$| EXISTS$/, "")) ?? [];
      if (loop !== undefined) {
        rows *= this.#rowsOf(loop, columnsIn(index));
        visits += rows;
        continue;
      }
      const isStep = detail === "RECURSIVE STEP";
      if (isStep) this.#stepDepth++;
      const inner = this.#estimate(id);
      if (isStep) this.#stepDepth--;
      const [, , computed] = /^(MATERIALIZE|CO-ROUTINE) (.+)$/.exec(detail) ?? [];
      if (computed !== undefined) {
        // A table is computed once, wherever it is used first.
        if (this.#options.rowsOf(computed) === undefined) visits += inner.visits;
        else this.#visitsOnce += inner.visits;
        const before = this.#computed.get(computed.toLowerCase()) ?? 0;
        this.#computed.set(computed.toLowerCase(), Math.max(before, inner.rows));
      } else if (detail.startsWith("CORRELATED")) visitsOfEach += inner.visits;
      else if (/SUBQUERY \d+$/.test(detail)) visits += inner.visits;
      else if (isStep) {
        const steps = this.#options.facts.recursionSteps;
        parts = sum(parts, { visits: inner.visits * steps, rows: steps });
      } else parts = sum(parts, inner);
    }
    const own = { visits: visits + rows * visitsOfEach, rows };
    return parts === undefined
      ? own
      : { visits: own.visits + rows * parts.visits, rows: rows * parts.rows };
  }

  #rowsOf(name: string, columns: readonly string[] | undefined): number {
    const own = [CHUNKS, ELEMENTS, ROWS].find((prefix) => name.startsWith(prefix));
    if (name === "CONSTANT ROW" || own === CHUNKS) return 1;
    if (own !== undefined) return this.#rowsOfTable(name.slice(own.length), columns);
    const targets = this.#options.facts.aliases.get(name.toLowerCase()) ?? [];
    const rows = targets.map((target) => this.#rowsOfTarget(name, target, columns));
    const computed = this.#computed.get(name.toLowerCase());
    if (rows.length > 0) return Math.max(...rows);
    return computed ?? this.#options.chars.all / CHARS_OF_ELEMENT;
  }

  #rowsOfTable(table: string, columns: readonly string[] | undefined): number {
    const rows = Math.max(this.#options.rowsOf(table) ?? 1, 1);
    if (columns === undefined) {
      this.scans.push({ table, rows });
      return rows;
    }
    this.searches.push({ table, columns });
    const found = Math.max(this.#options.sameRows?.(table, columns) ?? rows, 1);
    this.scans.push({ table, rows: found });
    return found;
  }

  #rowsOfTarget(name: string, target: AliasFacts, columns: readonly string[] | undefined): number {
    if ("table" in target) return this.#rowsOfTable(target.table, columns);
    if ("function" in target) return this.#rowsOfFunction();
    const { maxRows = Infinity, uniqueBy, grouped } = target;
    const isUnique =
      columns !== undefined && uniqueBy?.every((key) => columns.includes(key)) === true;
    if (isUnique) return 1;
    // The step of a recursion reads one row of the table that it adds to.
    const other = this.#stepDepth > 0 ? 1 : this.#largestComputed();
    const rows = this.#computed.get(name.toLowerCase()) ?? other;
    const groups = grouped === undefined ? undefined : this.#groups(grouped, uniqueBy);
    return Math.max(Math.min(maxRows, rows, groups ?? Infinity), 1);
  }

  #groups(table: string, columns: readonly string[] = []): number | undefined {
    this.searches.push({ table, columns });
    return this.#options.groups?.(table, columns);
  }

  #largestComputed(): number {
    return Math.max(1, ...this.#computed.values());
  }

  /** The elements of an array in a column, in a parameter, or in an array that the statement makes. */
  #rowsOfFunction(): number {
    const { facts, chars } = this.#options;
    const longest = facts.buildsArrays ? chars.all : chars.ofRow;
    return Math.max(longest, facts.parameterChars) / CHARS_OF_ELEMENT + 1;
  }
}

function sum(one: Estimate | undefined, other: Estimate): Estimate {
  if (one === undefined) return other;
  return { visits: one.visits + other.visits, rows: one.rows + other.rows };
}

/** The columns of an index that are compared with values: `(a=? AND b>?)`; undefined if none are equal. */
function columnsIn(index: string): readonly string[] | undefined {
  const [, conditions] = /\((.*)\)$/.exec(index) ?? [];
  const equal = conditions?.split(" AND ").filter((condition) => condition.endsWith("=?")) ?? [];
  return equal.length === 0 ? undefined : equal.map((one) => one.slice(0, -2).toLowerCase());
}
