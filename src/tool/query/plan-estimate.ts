import type { AliasFacts, FunctionFacts, PlanFacts, Scan, SelectFacts } from "./query-engine.ts";

/** A line of EXPLAIN QUERY PLAN. */
export interface PlanLine {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/** Characters of rows: on average, of the longest, of all. */
export interface RowChars {
  readonly average: number;
  readonly largest: number;
  readonly all: number;
}

/** The elements of the arrays in a column. */
export interface ElementCounts {
  readonly average: number;
  readonly largest: number;
}

export interface EstimateOptions {
  readonly facts: PlanFacts;
  /** Returns the rows of a table by its name in the statement; undefined for another name. */
  readonly rowsOf: (table: string) => number | undefined;
  /** Returns the characters of a table's rows. Undefined for an unknown one. */
  readonly charsOf: (table: string) => RowChars | undefined;
  /** Characters of the rows of the largest table. */
  readonly chars: RowChars;
  /**
   * Returns how many rows of a table at most have the same values in these columns; undefined if that is not
   * known. By default a search visits all rows.
   */
  readonly sameRows?:
    | ((table: string, columns: readonly string[]) => number | undefined)
    | undefined;
  /** Returns the columns of a table, without the position. */
  readonly columnsOf: (table: string) => readonly string[] | undefined;
  /** Returns how many elements the values of a column have. Default: as many as their characters allow. */
  readonly elements?: ((table: string, column: string) => ElementCounts | undefined) | undefined;
  /** Returns how many groups a table has by these columns. Default: one for each row. */
  readonly groups?: ((table: string, columns: readonly string[]) => number | undefined) | undefined;
}

/** The prefixes of tables in the view that the engine creates from chunks. Such a name means the table's rows. */
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

/** A row that is sorted, or compared with all others, takes the time of this many. */
const VISITS_OF_SORT = 10;
/** Each element of an array takes at least this many characters. */
const CHARS_OF_ELEMENT = 2;
/** Elements of the longest text that SQLite can make (`DURABLE_OBJECT_LIMITS`). */
const MAX_ELEMENTS = 4_000_000 / CHARS_OF_ELEMENT;
/** Characters that a function reads in the time of one row, and characters that it compares with others. */
const CHARS_OF_VISIT = 64;
const SEARCHED_CHARS = 1_024;

/**
 * Estimates the rows that a plan visits: nested loops multiply, and consecutive steps add. The estimate is high
 * where the plan gives few details.
 */
export class PlanEstimate {
  readonly scans: Scan[] = [];
  /** The searches and functions whose rows are only known from the data. */
  readonly searches: { readonly table: string; readonly columns: readonly string[] }[] = [];
  readonly visits: number;
  readonly #options: EstimateOptions;
  readonly #children = new Map<number, PlanLine[]>();
  /** The tables of which a search selects rows. */
  readonly #searched = new Set<string>();
  /** The rows of what the plan computes first, by name. */
  readonly #computed = new Map<string, number>();
  #stepDepth = 0;
  /** Characters of an element, if all have the same. */
  #charsOfElement = CHARS_OF_ELEMENT;
  #visitsOnce = 0;

  constructor(lines: readonly PlanLine[], options: EstimateOptions) {
    this.#options = options;
    for (const line of lines) {
      this.#children.set(line.parent, [...(this.#children.get(line.parent) ?? []), line]);
    }
    const visits = this.#estimate(0).visits + this.#visitsOnce;
    this.visits = Math.min(visits * (1 + Math.floor(this.#textWork)), Number.MAX_SAFE_INTEGER);
  }

  #estimate(parent: number): Estimate {
    let rows = 1;
    let visits = 0;
    let visitsOfEach = 0;
    let sorts = 0;
    let parts: Estimate | undefined;
    for (const { id, detail } of this.#children.get(parent) ?? []) {
      const [, loop, index = ""] = LOOP.exec(detail.replace(/ [A-Z]+-JOIN$| EXISTS$/, "")) ?? [];
      if (loop !== undefined) {
        const isFunction = detail.includes(" VIRTUAL TABLE ");
        rows *=
          isFunction && this.#isUnknown(loop) ? MAX_ELEMENTS : this.#rowsOf(loop, columnsIn(index));
        visits += rows;
        continue;
      }
      if (detail.startsWith("USE TEMP B-TREE")) sorts++;
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
      } else {
        const sorted = detail.endsWith("USING TEMP B-TREE") ? inner.rows * VISITS_OF_SORT : 0;
        parts = sum(parts, { visits: inner.visits + sorted, rows: inner.rows });
      }
    }
    const own = { visits: visits + rows * (visitsOfEach + sorts * VISITS_OF_SORT), rows };
    return parts === undefined
      ? own
      : { visits: own.visits + rows * parts.visits, rows: rows * parts.rows };
  }

  /** True for a function that is not one of a table's own, if the statement may have others than it seems to. */
  #isUnknown(name: string): boolean {
    const { facts } = this.#options;
    const isListed = facts.knowsFunctions && facts.aliases.has(name.toLowerCase());
    return !isListed && this.#prefixOf(name) === undefined;
  }

  /** The prefix of a table's own part. No name in a statement has one before a table's name (`run-query.ts`). */
  #prefixOf(name: string): string | undefined {
    return [CHUNKS, ELEMENTS, ROWS].find(
      (prefix) =>
        name.startsWith(prefix) && this.#options.rowsOf(name.slice(prefix.length)) !== undefined,
    );
  }

  #rowsOf(name: string, columns: readonly string[] | undefined): number {
    const own = this.#prefixOf(name);
    if (name === "CONSTANT ROW" || own === CHUNKS) return 1;
    if (own !== undefined) {
      const table = name.slice(own.length);
      const written = own === ROWS ? columns?.map((one) => this.#columnOf(table, one)) : columns;
      return this.#rowsOfTable(table, written);
    }
    const targets = this.#options.facts.aliases.get(name.toLowerCase()) ?? [];
    const rows = targets.map((target) => this.#rowsOfTarget(name, target, columns));
    const computed = this.#computed.get(name.toLowerCase());
    if (rows.length > 0) return Math.max(...rows);
    return computed ?? this.#options.chars.all / CHARS_OF_ELEMENT;
  }

  /** Returns the name of a stored column: `c0`, `i` (`loaded-tables.ts`). */
  #columnOf(table: string, stored: string): string {
    if (stored === "i") return "index";
    return this.#options.columnsOf(table)?.[Number(stored.slice(1))]?.toLowerCase() ?? stored;
  }

  #rowsOfTable(table: string, columns: readonly string[] | undefined): number {
    const rows = Math.max(this.#options.rowsOf(table) ?? 1, 1);
    if (columns === undefined) {
      this.scans.push({ table, rows });
      return rows;
    }
    const found = Math.max(Math.min(this.#sameRows({ table }, columns), rows), 1);
    this.scans.push({ table, rows: found });
    this.#searched.add(table);
    return found;
  }

  #rowsOfTarget(name: string, target: AliasFacts, columns: readonly string[] | undefined): number {
    if ("table" in target) return this.#rowsOfTable(target.table, columns);
    if ("function" in target) return this.#rowsOfFunction(target);
    // The step of a recursion reads one row of the table that it adds to.
    const other = this.#stepDepth > 0 ? 1 : this.#largestComputed();
    const rows = this.#computed.get(name.toLowerCase()) ?? other;
    const same = columns === undefined ? Infinity : this.#sameRows(target, columns);
    const groups = this.#groups(target) ?? Infinity;
    return Math.max(Math.min(target.maxRows ?? Infinity, rows, same, groups), 1);
  }

  /** How many rows have the same values in these columns, at most. */
  #sameRows(target: AliasFacts, columns: readonly string[]): number {
    if ("function" in target || columns.length === 0) return Infinity;
    if ("table" in target) {
      const { table } = target;
      if (this.#options.facts.comparesLoosely) return Infinity;
      this.searches.push({ table, columns });
      return this.#options.sameRows?.(table, columns) ?? Infinity;
    }
    const { keys = [], source } = target;
    const isUnique = keys.some(
      (key) =>
        key.columns.every((column) => columns.includes(column)) &&
        key.absent.every((column) => source !== undefined && this.#lacks(source, column)),
    );
    if (isUnique && !this.#options.facts.comparesLoosely) return 1;
    const read = columns.flatMap((column) => sourceColumn(target, column) ?? []);
    return source === undefined ? Infinity : this.#sameRows(source, read);
  }

  /** True if a table has no column of this name. */
  #lacks(target: AliasFacts, column: string): boolean {
    if ("function" in target) return false;
    if ("table" in target) {
      const columns = this.#options.columnsOf(target.table);
      return columns?.some((one) => one.toLowerCase() === column) === false && column !== "index";
    }
    const { columns, isStarred, source } = target;
    if (columns === undefined || columns.has(column)) return false;
    return isStarred !== true || (source !== undefined && this.#lacks(source, column));
  }

  #groups({ source, groupedColumns, columns }: SelectFacts): number | undefined {
    const { table } = source !== undefined && "table" in source ? source : {};
    if (table === undefined || groupedColumns === undefined || columns === undefined)
      return undefined;
    this.searches.push({ table, columns: groupedColumns });
    return this.#options.groups?.(table, groupedColumns);
  }

  #largestComputed(): number {
    return Math.max(1, ...this.#computed.values());
  }

  #rowsOfFunction({ of, column, isFirst, isNested }: FunctionFacts): number {
    // All elements of elements are counted with the elements.
    if (isNested === true) return 1;
    const chars = of === undefined ? undefined : this.#options.charsOf(of);
    // A search may find the longest row each time.
    const isAverage = isFirst === true && of !== undefined && !this.#searched.has(of);
    const row = isAverage ? "average" : "largest";
    const longest = chars?.[row] ?? this.#longestText;
    const most = longest / CHARS_OF_ELEMENT;
    const counts =
      of !== undefined && column !== undefined ? this.#elements(of, column) : undefined;
    const elements = Math.min(counts?.[row] ?? most, most) + 1;
    this.#charsOfElement = Math.max(this.#charsOfElement, longest / elements);
    return elements;
  }

  #elements(table: string, column: string): ElementCounts | undefined {
    const targets = [...this.#options.facts.aliases.values()].flat();
    // Elements of elements are counted with the elements.
    if (targets.some((target) => "isNested" in target && target.isNested === true))
      return undefined;
    this.searches.push({ table, columns: [column] });
    return this.#options.elements?.(table, column);
  }

  /** Characters of a text that the statement has put together, at most. */
  get #longestText(): number {
    const { joinsRows, growth } = this.#options.facts.text;
    return this.#textOf(joinsRows ? "all" : "largest") * growth;
  }

  #textOf(row: keyof RowChars): number {
    const { facts, chars } = this.#options;
    return Math.max(chars[row], facts.parameterChars, facts.text.chars);
  }

  /** The work on texts for each row, as a number of rows. */
  get #textWork(): number {
    const { facts } = this.#options;
    const { calls, elementCalls, searches, growth } = facts.text;
    const longest = this.#longestText;
    // If each row is read once, all of them together have the characters of the table.
    const chars = facts.readsOnce ? this.#textOf("average") * growth : longest;
    // Joined rows are copied and compared with their texts.
    const carried = facts.readsOnce ? 0 : longest / SEARCHED_CHARS;
    const read = calls * chars + elementCalls * this.#charsOfElement;
    return carried + read / CHARS_OF_VISIT + (searches * chars * longest) / SEARCHED_CHARS;
  }
}

/** The column of its source that a column of a SELECT is. */
function sourceColumn({ columns, isStarred }: SelectFacts, column: string): string | undefined {
  if (columns?.has(column) === true) return columns.get(column);
  return isStarred === true ? column : undefined;
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
