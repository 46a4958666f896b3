import type { AliasFacts, EngineQuery } from "./query-engine.ts";

export interface PlanLine {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

export interface PlanSizes {
  readonly query: Pick<EngineQuery, "aliases" | "recursionSteps">;
  /** Returns the rows of a table by its name in the statement; undefined for another name. */
  readonly rowsOf: (table: string) => number | undefined;
  /** Elements that `json_each` and `json_tree` return for one value, on average. */
  readonly elements: number;
  /** The most that they return for one value. Counts where another such function is around them. */
  readonly mostElements: number;
}

/** The prefixes of tables in the view that the engine creates from chunks. Such a name means the table's rows. */
export const CHUNKS = "chunks of ";
export const ELEMENTS = "elements of ";
export const ROWS = "rows of ";

/** One loop: SCAN or SEARCH, its table, and what selects its rows. */
const LOOP = /^(SCAN|SEARCH) (.+?)(?: USING (.*)| VIRTUAL TABLE .*)?$/;
/** Groups that a grouped SELECT is taken to return: so that joins of groups are not refused. */
export const GROUPS = 1_000;

/** A table that a plan reads, by its name in the statement, with the number of rows that one reading visits. */
interface Scan {
  readonly table: string;
  readonly rows: number;
}

interface Bound {
  readonly visits: number;
  readonly rows: number;
}

/**
 * The rows that a plan visits as the product of its nested scans. A search by equality counts as one row, so a join
 * of few distinct values may visit more: the time limit of the engine's isolation ends it.
 */
export function planBound(lines: readonly PlanLine[], sizes: PlanSizes) {
  const scans: Scan[] = [];
  const aliases: ReadonlyMap<string, readonly AliasFacts[]> = new Map(sizes.query.aliases);
  /** The rows of what the plan computes first, by name. */
  const computedRows = new Map<string, number>();
  return { visits: Math.min(bound(0).visits, Number.MAX_SAFE_INTEGER), scans };

  function bound(parent: number): Bound {
    let [rows, visits, visitsOfEach] = [1, 0, 0];
    let parts: Bound | undefined;
    let isInElements = false;
    for (const { id, detail } of lines.filter((line) => line.parent === parent)) {
      if (detail.startsWith("USE TEMP")) continue;
      const [, kind, name, index = ""] =
        LOOP.exec(detail.replace(/ [A-Z]+-JOIN$| EXISTS$/, "")) ?? [];
      if (name !== undefined) {
        const { elements, mostElements } = sizes;
        const isElements = detail.includes(" VIRTUAL TABLE ") && !name.startsWith(ELEMENTS);
        if (isElements) rows *= isInElements ? mostElements : elements;
        else if (kind !== "SEARCH" || !index.includes("=?")) rows *= rowsOf(name);
        isInElements ||= isElements;
        visits += rows;
        continue;
      }
      const inner = bound(id);
      const [, computed] = /^(?:MATERIALIZE|CO-ROUTINE) (.+)$/.exec(detail) ?? [];
      if (computed !== undefined) {
        visits += inner.visits;
        computedRows.set(computed.toLowerCase(), inner.rows);
      } else if (detail.startsWith("CORRELATED")) visitsOfEach += inner.visits;
      else if (/SUBQUERY \d+$/.test(detail)) visits += inner.visits;
      else {
        const steps = detail === "RECURSIVE STEP" ? sizes.query.recursionSteps : 1;
        const { visits: before, rows: already } = parts ?? { visits: 0, rows: 0 };
        parts = {
          visits: before + inner.visits * steps,
          rows: already + (steps === 1 ? inner.rows : steps),
        };
      }
    }
    const own = { visits: visits + rows * visitsOfEach, rows };
    return parts === undefined
      ? own
      : { visits: own.visits + rows * parts.visits, rows: rows * parts.rows };
  }

  function rowsOf(name: string): number {
    if (name === "CONSTANT ROW" || name.startsWith(CHUNKS)) return 1;
    const own = [ELEMENTS, ROWS].find((prefix) => name.startsWith(prefix));
    if (own !== undefined) return rowsOfTable(name.slice(own.length));
    const computed = computedRows.get(name.toLowerCase());
    const alias = name.startsWith("(subquery-") ? "" : name.toLowerCase();
    const targets = aliases.get(alias) ?? [];
    const rows = targets.map((target) => {
      if (target.table !== undefined) return rowsOfTable(target.table);
      const most = computed ?? Math.max(1, ...computedRows.values());
      return Math.min(most, target.maxRows ?? Infinity);
    });
    // SQLite names what has no alias. Where it computes that first, it is grouped or limited.
    return rows.length > 0 ? Math.max(...rows) : Math.min(computed ?? 1, GROUPS);
  }

  function rowsOfTable(table: string): number {
    const rows = Math.max(sizes.rowsOf(table) ?? 1, 1);
    scans.push({ table, rows });
    return rows;
  }
}
