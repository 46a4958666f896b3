import {
  type CSSProperties,
  type KeyboardEvent,
  type PointerEvent,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Button, Dialog, IconButton } from "../controls.tsx";
import { Icon } from "../icon.tsx";
import { bytesInWords, figure } from "../words.ts";
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

/** A virtual table. Renders and loads visible rows only. */
export function RecordTable({ records, name }: RecordTableProps) {
  const [sorting, setSorting] = useState<Sorting>();
  const [filter, setFilter] = useState("");
  const [isWide, setWide] = useState(false);
  const [widths, setWidths] = useState<Widths>(new Map());
  const { count, rows, mayBeWhole, need } = records;
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
        {...{ records, filter }}
        found={chosen?.length}
        onFilter={setFilter}
        onWide={isWide ? undefined : () => setWide(true)}
      />
      <Rows
        {...{ records, name, sorting, widths, setWidths }}
        shown={chosen}
        order={`${sorting?.column}/${sorting?.isDescending}/${filter}`}
        onSort={(column) => setSorting((last) => nextSorting(last, column))}
      />
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

/** Cycles through ascending, descending and unsorted. */
function nextSorting(last: Sorting | undefined, column: string): Sorting | undefined {
  if (last?.column !== column) return { column, isDescending: false };
  return last.isDescending ? undefined : { column, isDescending: true };
}

interface TableToolsProps {
  readonly records: Records;
  /** Number of rows after filtering or sorting. Default: all rows. */
  readonly found: number | undefined;
  readonly filter: string;
  readonly onFilter: (text: string) => void;
  /** Opens the table over the page; undefined if it is open. */
  readonly onWide: (() => void) | undefined;
}

/** The filter, and the number of rows found. */
function TableTools({ records, found, filter, onFilter, onWide }: TableToolsProps) {
  const { count, rows, bytes, isWhole, mayBeWhole, need } = records;
  const isOfPart = found !== undefined && !isWhole;
  const of = figure(isOfPart ? rows.length : count);
  return (
    <div className="variables-tools">
      <input
        type="search"
        className="variables-filter"
        aria-label="Filter rows"
        placeholder="Filter rows"
        value={filter}
        onChange={({ target }) => onFilter(target.value)}
      />
      <span className="variables-found" role="status">
        {found === undefined ? `${of} rows` : `${figure(found)} of ${of} rows`}
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
          {mayBeWhole ? (
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

/** Widths chosen by the user, in pixels, by column. */
type Widths = ReadonlyMap<string, number>;

interface RowsProps extends RecordTableProps {
  /** Default: all rows, in their own order. */
  readonly shown: readonly Row[] | undefined;
  /** A new order scrolls to the top. */
  readonly order: string;
  readonly sorting: Sorting | undefined;
  readonly onSort: (column: string) => void;
  readonly widths: Widths;
  readonly setWidths: (widths: Widths) => void;
}

function Rows(props: RowsProps) {
  const { records, name, shown, order, widths } = props;
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
        style={layoutOf(columns, records.count, widths)}
      >
        <RecordHeader {...props} />
        <div className="variables-rows" role="rowgroup" style={{ height: stretch.height }}>
          <div role="presentation" style={{ transform: `translateY(${stretch.top}px)` }}>
            {places.map((place) => {
              const row = shown === undefined ? at(place) : shown[place];
              return (
                <div key={place} className="variables-record" role="row" aria-rowindex={place + 2}>
                  <span className="variables-index" role="rowheader">
                    {row?.index ?? place}
                  </span>
                  {columns.map(({ name: column, isNumeric }) => {
                    const text = row === undefined ? "…" : textOf(cellOf(row, column), column);
                    return (
                      <span
                        key={column}
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
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

const MIN_PX = 48;
const STEP_PX = 24;

/**
 * Column headers. A click sorts. Dragging the right edge, or Alt with an arrow key, changes the width; a double click
 * resets it.
 */
function RecordHeader({ records, sorting, onSort, widths, setWidths }: RowsProps) {
  const set = (column: string, width: number) =>
    setWidths(new Map(widths).set(column, Math.max(MIN_PX, Math.round(width))));
  const drag = (column: string, event: PointerEvent<HTMLElement>) => {
    const { currentTarget: grip, clientX, pointerId } = event;
    const before = widthOf(grip);
    event.preventDefault();
    grip.setPointerCapture(pointerId);
    const move = (moved: globalThis.PointerEvent) => set(column, before + moved.clientX - clientX);
    grip.addEventListener("pointermove", move);
    const stop = () => grip.removeEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", stop, { once: true });
  };
  const press = (column: string, event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowRight: STEP_PX, ArrowLeft: -STEP_PX }[event.key];
    if (!event.altKey || step === undefined) return;
    event.preventDefault();
    set(column, widthOf(event.currentTarget) + step);
  };
  const order = sorting?.isDescending === true ? "descending" : "ascending";
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
            aria-sort={sorting?.column === name ? order : "none"}
            className={isNumeric ? "variables-number" : undefined}
          >
            <button
              type="button"
              title={`Sort by ${name}`}
              onClick={() => onSort(name)}
              onKeyDown={(event) => press(name, event)}
            >
              {name}
              {sorting?.column === name && <Icon name={order} size={16} />}
            </button>
            <span
              className="variables-grip"
              aria-hidden="true"
              title="Drag to change the width; Alt with an arrow does the same"
              onPointerDown={(event) => drag(name, event)}
              onDoubleClick={() => setWidths(new Map([...widths].filter(([one]) => one !== name)))}
            />
          </span>
        ))}
      </div>
    </div>
  );
}

function widthOf(inHeader: HTMLElement): number {
  return inHeader.closest("[role=columnheader]")?.getBoundingClientRect().width ?? MIN_PX;
}

const MIN_COLUMN_CHARS = 4;
const MAX_COLUMN_CHARS = 36;
const MAX_CELL_CHARS = 200;

/** Returns the widths of columns: chosen by the user, or from the loaded rows. They stay the same while scrolling. */
function layoutOf(columns: readonly Column[], count: number, chosen: Widths): CSSProperties {
  const widths = columns.map(({ name, width }, at) => {
    const px = chosen.get(name);
    if (px !== undefined) return `${px}px`;
    const chars = Math.min(MAX_COLUMN_CHARS, Math.max(MIN_COLUMN_CHARS, width + 1));
    const least = `calc(${chars}ch + 24px)`;
    return `minmax(${least}, ${at === columns.length - 1 ? "1fr" : least})`;
  });
  const layout = [`calc(${String(count).length}ch + 28px)`, ...widths].join(" ");
  return { "--variables-columns": layout } as CSSProperties;
}
