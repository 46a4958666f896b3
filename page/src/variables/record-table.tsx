import { type CSSProperties, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { RecordHeader } from "./record-header.tsx";
import {
  cellOf,
  type Column,
  filtered,
  type Row,
  sorted,
  type Sorting,
  stretchAt,
  textOf,
} from "./records.ts";
import { type ColumnWidths, useColumnWidths } from "./use-column-widths.ts";
import { WideTable } from "./wide-table.tsx";
import { TableTools } from "./table-tools.tsx";
import type { Records } from "./use-records.ts";
import "./record-table.css";

interface RecordTableProps {
  readonly records: Records;
  readonly name: string;
}

/** Row height in pixels, as in the style sheet. */
const ROW_HEIGHT = 32;
/** Maximum rows that sorting loads by itself. */
const MAX_FETCHED = 5_000;

/** A virtual table. Renders and loads visible rows only. */
export function RecordTable({ records, name }: RecordTableProps) {
  const [sorting, setSorting] = useState<Sorting>();
  const [filter, setFilter] = useState("");
  const [isWide, setWide] = useState(false);
  const resizing = useColumnWidths();
  const { count, rows, isWhole, mayBeWhole, need } = records;
  const isChanged = sorting !== undefined || filter.trim() !== "";
  useEffect(() => {
    if (isChanged && mayBeWhole && count <= MAX_FETCHED) need(0, count);
  }, [isChanged, mayBeWhole, count, need]);
  const chosen = useMemo(() => {
    if (!isChanged) return undefined;
    const kept = filtered(rows, filter);
    return sorting === undefined ? kept : sorted(kept, sorting);
  }, [isChanged, rows, filter, sorting]);
  const content = (
    <>
      <TableTools
        records={records}
        found={chosen?.length}
        filter={filter}
        onFilter={setFilter}
        onWide={isWide ? undefined : () => setWide(true)}
        onAll={isWhole || !mayBeWhole ? undefined : () => need(0, count)}
      />
      <Rows
        {...{ records, name, sorting }}
        shown={chosen}
        order={`${sorting?.column}/${sorting?.isDescending}/${filter}`}
        onSort={(column) => setSorting((last) => nextSorting(last, column))}
        resizing={resizing}
      />
    </>
  );
  if (!isWide) return content;
  return (
    <WideTable name={name} onClose={() => setWide(false)}>
      {content}
    </WideTable>
  );
}

/** Cycles through ascending, descending and unsorted. */
function nextSorting(last: Sorting | undefined, column: string): Sorting | undefined {
  if (last?.column !== column) return { column, isDescending: false };
  return last.isDescending ? undefined : { column, isDescending: true };
}

interface RowsProps extends RecordTableProps {
  /** Default: all rows, in their own order. */
  readonly shown: readonly Row[] | undefined;
  /** A new order scrolls to the top. */
  readonly order: string;
  readonly sorting: Sorting | undefined;
  readonly onSort: (column: string) => void;
  readonly resizing: ColumnWidths;
}

function Rows({ records, name, shown, order, sorting, onSort, resizing }: RowsProps) {
  const { columns, at, need } = records;
  const frame = useRef<HTMLDivElement>(null);
  const [position, setPosition] = useState({ scrollTop: 0, windowHeight: 480 });
  const count = shown?.length ?? records.count;
  const stretch = stretchAt(position.scrollTop, { ...position, count, rowHeight: ROW_HEIGHT });
  const { from, to } = stretch;
  useLayoutEffect(() => {
    frame.current?.scrollTo({ top: 0 });
  }, [order]);
  useEffect(() => {
    if (shown === undefined) need(from, to);
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
  const drawn = Array.from({ length: Math.max(0, to - from) }, (_, offset) => {
    const place = from + offset;
    return { place, row: shown === undefined ? at(place) : shown[place] };
  });
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
        style={layoutOf(columns, records.count, resizing.widths)}
      >
        <RecordHeader {...{ columns, sorting, onSort, resizing }} />
        <div className="variables-rows" role="rowgroup" style={{ height: stretch.height }}>
          <div role="presentation" style={{ transform: `translateY(${stretch.top}px)` }}>
            {drawn.map(({ place, row }) => (
              <RecordRow key={place} place={place} row={row} columns={columns} />
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}

const MIN_COLUMN_CHARS = 4;
const MAX_COLUMN_CHARS = 36;

/**
 * Returns the widths of columns: chosen by the user, or from the loaded rows. They stay the same while
 * scrolling.
 */
function layoutOf(
  columns: readonly Column[],
  count: number,
  chosen: ColumnWidths["widths"],
): CSSProperties {
  const widths = columns.map(({ name, width }, at) => {
    const px = chosen.get(name);
    if (px !== undefined) return `${px}px`;
    const chars = Math.min(MAX_COLUMN_CHARS, Math.max(MIN_COLUMN_CHARS, width + 1));
    const most = at === columns.length - 1 ? "1fr" : `calc(${chars}ch + 24px)`;
    return `minmax(calc(${chars}ch + 24px), ${most})`;
  });
  const layout = [`calc(${String(count).length}ch + 28px)`, ...widths].join(" ");
  return { "--variables-columns": layout } as CSSProperties;
}

interface RecordRowProps {
  readonly place: number;
  readonly row: Row | undefined;
  readonly columns: readonly Column[];
}

function RecordRow({ place, row, columns }: RecordRowProps) {
  return (
    <div className="variables-record" role="row" aria-rowindex={place + 2}>
      <span className="variables-index" role="rowheader">
        {row?.index ?? place}
      </span>
      {columns.map(({ name, isNumeric }) => {
        const cell = row === undefined ? undefined : cellOf(row, name);
        const text = row === undefined ? "…" : textOf(cell, name);
        return (
          <span
            key={name}
            role="cell"
            className={isNumeric ? "variables-number" : undefined}
            title={text.length > MAX_COLUMN_CHARS ? text : undefined}
          >
            {text.slice(0, MAX_CELL_CHARS)}
          </span>
        );
      })}
    </div>
  );
}

const MAX_CELL_CHARS = 200;
