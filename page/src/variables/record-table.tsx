import {
  type CSSProperties,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Button, copyExact, Dialog, Icon, IconButton, Segments } from "../controls.tsx";
import { bytesInWords, figure, shortened } from "../words.ts";
import {
  cellOf,
  type Column,
  columnsOf,
  filtered,
  findingQuery,
  isRecord,
  MAX_COLUMNS,
  type Row,
  sorted,
  type Sorting,
  stretchAt,
  textOf,
} from "./records.ts";
import type { Records } from "./use-records.ts";
import "./record-table.css";
import "./wide-table.css";

interface RecordTableProps {
  readonly records: Records;
  readonly name: string;
}

/** Row height in pixels, as in the style sheet. */
const ROW_HEIGHT = 32;
/** Maximum rows that sorting loads by itself. */
const MAX_FETCHED = 5_000;

/** True for an array that is small enough to load completely. */
function mayBeWhole({ bytes, count }: Records): boolean {
  return bytes <= 16_777_216 && count <= 100_000;
}

/** A virtual table. Renders and loads visible rows only. */
function RecordTable({ records, name }: RecordTableProps) {
  const [isWide, setWide] = useState(false);
  const order = useOrder(records, name);
  const content = (
    <>
      <TableTools {...{ records, order }} onWide={isWide ? undefined : () => setWide(true)} />
      <Rows {...{ records, name, order, isWide }} />
    </>
  );
  if (!isWide) return content;
  return (
    <Dialog label={`$${name}, wide`} className="wide-table" onClose={() => setWide(false)}>
      {(close) => (
        <>
          <header className="wide-table-head">
            <h2>${name}</h2>
            <IconButton icon="close" label="Close the wide table" onClick={close} />
          </header>
          {content}
        </>
      )}
    </Dialog>
  );
}

type Order = ReturnType<typeof useOrder>;

/** Sorts and filters records: those that are loaded, or large arrays by a query. */
function useOrder(records: Records, name: string) {
  const [filter, setFilter] = useState("");
  const [sorting, setSorting] = useState<Sorting>();
  const { count, rows, need } = records;
  const isWhole = rows.length >= count;
  const isChanged = sorting !== undefined || filter.trim() !== "";
  const isSmall = mayBeWhole(records) && count <= MAX_FETCHED;
  const isAsked = isChanged && !isSmall && !isWhole;
  const sql = isAsked ? findingQuery(name, records.columns, { filter, sorting }) : undefined;
  const found = useFound(records, sql);
  useEffect(() => {
    if (isChanged && isSmall) need(0, count);
  }, [isChanged, isSmall, count, need]);
  const shown = useMemo(() => {
    if (!isChanged) return undefined;
    if (found !== undefined && found !== "searching") return found;
    const kept = filtered(rows, filter);
    return (sorting === undefined ? kept : sorted(kept, sorting)).map(({ index }) => index);
  }, [isChanged, found, rows, filter, sorting]);
  return {
    filter,
    setFilter,
    sorting,
    sort: (column: string) => setSorting(nextSorting(sorting, column)),
    /** The positions of rows. Undefined for all rows, in their own order. */
    shown,
    isSearching: found === "searching",
    /** True if only loaded rows were filtered or sorted. */
    isOfPart: isChanged && !isWhole && found === undefined,
  };
}

/** Pause in typing before the server is asked. */
const ASKED_AFTER_MS = 250;

/** Returns the positions that a query over the whole array finds. Undefined without a query, and if it fails. */
function useFound({ query }: Records, sql: string | undefined) {
  const [found, setFound] = useState<{ of: string; positions: readonly number[] | undefined }>();
  useEffect(() => {
    if (query === undefined || sql === undefined) return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      query(sql)
        .then((rows) => rows.map(({ at }) => Number(at)))
        // An application may have no queries.
        .catch(() => undefined)
        .then((positions) => isCurrent && setFound({ of: sql, positions }));
    }, ASKED_AFTER_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [query, sql]);
  if (query === undefined || sql === undefined) return undefined;
  return found?.of === sql ? found.positions : "searching";
}

/** Cycles through ascending, descending and unsorted. */
function nextSorting(last: Sorting | undefined, column: string): Sorting | undefined {
  if (last?.column !== column) return { column, isDescending: false };
  return last.isDescending ? undefined : { column, isDescending: true };
}

interface TableToolsProps extends Pick<RecordTableProps, "records"> {
  readonly order: Order;
  /** Opens the table over the page; undefined if it is open. */
  readonly onWide: (() => void) | undefined;
}

/** The filter, and the number of rows found. */
function TableTools({ records, order, onWide }: TableToolsProps) {
  const { filter, setFilter, shown, isSearching, isOfPart } = order;
  const { count, rows, bytes, columns, need } = records;
  const of = figure(isOfPart ? rows.length : count);
  const found = shown === undefined ? `${of} rows` : `${figure(shown.length)} of ${of} rows`;
  const words = columns.length < MAX_COLUMNS ? found : `${found}, the first ${MAX_COLUMNS} columns`;
  return (
    <div className="variables-tools">
      <input
        type="search"
        className="variables-filter"
        aria-label="Filter rows"
        placeholder="Filter rows"
        value={filter}
        onChange={({ target }) => setFilter(target.value)}
      />
      <span className="variables-found" role="status">
        {isSearching ? `Searching ${figure(count)} rows…` : words}
      </span>
      {onWide !== undefined && (
        <Button className="variables-tool" onClick={onWide}>
          <Icon name="wide" size={16} />
          Open wide
        </Button>
      )}
      {isOfPart && (
        <p className="variables-hint">
          Sorts and filters the {figure(rows.length)} loaded rows of {figure(count)}.{" "}
          {mayBeWhole(records) ? (
            <Button className="link-button" onClick={() => need(0, count)}>
              Load all, {bytesInWords(bytes)}
            </Button>
          ) : (
            "The table is too large to load whole."
          )}
        </p>
      )}
    </div>
  );
}

interface RowsProps extends RecordTableProps {
  readonly order: Order;
  readonly isWide: boolean;
}

function Rows(props: RowsProps) {
  const { records, name, order, isWide } = props;
  const { shown, sorting, filter } = order;
  const { columns, at, need } = records;
  const frame = useRef<HTMLDivElement>(null);
  const [position, setPosition] = useState({ scrollTop: 0, windowHeight: 480 });
  const count = shown?.length ?? records.count;
  const stretch = stretchAt(position.scrollTop, { ...position, count, rowHeight: ROW_HEIGHT });
  const { from, to } = stretch;
  useLayoutEffect(() => {
    frame.current?.scrollTo({ top: 0 });
  }, [sorting, filter]);
  useEffect(() => {
    if (shown === undefined) need(from, to);
    else for (const index of shown.slice(from, to)) need(index, index + 1);
  }, [shown, need, from, to]);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const look = () =>
      setPosition({ scrollTop: element.scrollTop, windowHeight: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  const places = Array.from({ length: Math.max(0, to - from) }, (_, offset) => from + offset);
  return (
    <div
      className="variables-frame"
      ref={frame}
      tabIndex={0}
      role="region"
      aria-label={`Rows of $${name}`}
    >
      <div
        className="variables-table"
        role="table"
        aria-label={`$${name}`}
        aria-rowcount={count + 1}
        onCopy={copyExact}
        style={layoutOf(columns, records.count, isWide)}
      >
        <RecordHeader {...props} />
        <div className="variables-rows" role="rowgroup" style={{ height: stretch.height }}>
          <div role="presentation" style={{ transform: `translateY(${stretch.top}px)` }}>
            {places.map((place) => {
              const index = shown?.[place] ?? place;
              const row = at(index);
              return (
                <div key={place} className="variables-record" role="row" aria-rowindex={place + 2}>
                  <span className="variables-index" role="rowheader">
                    {index}
                  </span>
                  {columns.map((column) => {
                    const { name, isNumeric } = column;
                    const cell = row && cellOf(row, name);
                    const text = row === undefined ? "…" : textOf(cell, column);
                    const isCut = text.length > MAX_CELL_CHARS;
                    return (
                      <span
                        key={name}
                        role="cell"
                        className={isNumeric ? "variables-number" : undefined}
                        title={text.length > MAX_COLUMN_CHARS ? text : undefined}
                        data-value={typeof cell === "number" ? cell : isCut ? text : undefined}
                      >
                        {shortened(text, MAX_CELL_CHARS)}
                      </span>
                    );
                  })}
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

/** Column headers. A click sorts. */
function RecordHeader({ records, order }: RowsProps) {
  const { sorting, sort } = order;
  const direction = sorting?.isDescending === true ? "descending" : "ascending";
  return (
    <div className="variables-header" role="rowgroup">
      <div className="variables-record" role="row" aria-rowindex={1}>
        <span className="variables-index" role="columnheader">
          <span className="unseen">Index</span>
        </span>
        {records.columns.map(({ name, isNumeric }) => (
          <span
            key={name}
            role="columnheader"
            aria-sort={sorting?.column === name ? direction : "none"}
            className={isNumeric ? "variables-number" : undefined}
          >
            <button type="button" title={`Sort by ${name}`} onClick={() => sort(name)}>
              {name}
              {sorting?.column === name && <Icon name={direction} size={16} />}
            </button>
          </span>
        ))}
      </div>
    </div>
  );
}

const MIN_COLUMN_CHARS = 4;
const MAX_COLUMN_CHARS = 36;
const MAX_CELL_CHARS = 200;

/** Returns the widths of columns from the loaded rows. They stay the same while scrolling. */
function layoutOf(columns: readonly Column[], count: number, isWide: boolean): CSSProperties {
  const most = MAX_COLUMN_CHARS * (isWide ? 2 : 1);
  const widths = columns.map(({ width }, at) => {
    const chars = Math.min(most, Math.max(MIN_COLUMN_CHARS, width + 1));
    const least = `calc(${chars}ch + 24px)`;
    return `minmax(${least}, ${at === columns.length - 1 ? "1fr" : least})`;
  });
  const layout = [`calc(${String(count).length}ch + 28px)`, ...widths].join(" ");
  return { "--variables-columns": layout } as CSSProperties;
}

// Loaded on demand: most variables are never drawn.
const RecordsChart = lazy(() => import("../chart/chart.tsx"));

interface RecordsProps {
  readonly records: Records;
  readonly name: string;
}

export function ChartOfRecords(props: RecordsProps) {
  return (
    <Suspense fallback={<p className="variables-wait">Loading…</p>}>
      <RecordsChart {...props} />
    </Suspense>
  );
}

interface RecordFormsProps extends RecordsProps {
  /** Name of the choice, for screen readers. */
  readonly label?: string;
  /** The value as a tree; undefined if it cannot be shown as one. */
  readonly tree?: ReactNode;
}

type Form = "Table" | "Chart" | "Tree";

/** Shows records in the form that suits them, or that the user chooses. */
export function RecordForms({ records, name, label = "Shown as", tree }: RecordFormsProps) {
  const [chosen, setChosen] = useState<Form>();
  const hasNumbers = records.columns.some(({ isNumeric }) => isNumeric);
  const forms: readonly Form[] = [
    "Table",
    ...(hasNumbers && records.count > 1 ? (["Chart"] as const) : []),
    ...(tree === undefined ? [] : (["Tree"] as const)),
  ];
  const isTable =
    hasNumbers || tree === undefined || records.rows.every(({ value }) => isRecord(value));
  const form = chosen ?? (isTable ? "Table" : "Tree");
  return (
    <>
      <Segments label={label} values={forms} value={form} onChoose={setChosen} />
      {form === "Table" && <RecordTable records={records} name={name} />}
      {form === "Chart" && <ChartOfRecords records={records} name={name} />}
      {form === "Tree" && tree}
    </>
  );
}

/** Records that are completely in memory. */
export function heldRecords(values: readonly Row["value"][]): Records {
  const rows = values.map((value, index) => ({ index, value }));
  const whole = { count: rows.length, bytes: 0, columns: columnsOf(rows), need: () => undefined };
  return { ...whole, rows, at: (index) => rows[index] };
}
