import { useCallback, useMemo, useRef, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Json } from "../../../src/value/json.ts";
import type { Session } from "../session.ts";
import { type Column, columnsOf, type Row } from "./records.ts";

/** An array of which the page has as much as was looked at. */
export interface Records {
  /** Of the whole. */
  readonly count: number;
  readonly bytes: number;
  readonly columns: readonly Column[];
  /** Those that are here, in their order. */
  readonly rows: readonly Row[];
  readonly at: (index: number) => Row | undefined;
  readonly isWhole: boolean;
  /** Small enough for all of it to be here. */
  readonly mayBeWhole: boolean;
  readonly error?: unknown;
  /** Gets these, from the first to before the last, unless they are here or on their way. */
  readonly need: (from: number, to: number) => void;
}

/** Rows that are asked for at once, by their size. */
const PAGE_BYTES = 131_072;
const MAX_PAGE_ROWS = 200;
/** What a page holds of one array without harm. */
const MAX_WHOLE_BYTES = 16_777_216;
const MAX_WHOLE_ROWS = 100_000;

export function useRecords(session: Session, info: VariableInfo): Records {
  const { name, count, bytes } = info;
  const pageRows = Math.max(
    1,
    Math.min(MAX_PAGE_ROWS, Math.floor((PAGE_BYTES * count) / Math.max(1, bytes))),
  );
  const [pages, setPages] = useState<ReadonlyMap<number, readonly Row[]>>(new Map());
  const [error, setError] = useState<unknown>();
  const asked = useRef(new Set<number>());

  const fetchPages = useCallback(
    async (first: number, last: number) => {
      const { variables } = session.client.conversation(session.conversation);
      const offset = first * pageRows;
      try {
        const limit = (last - first + 1) * pageRows;
        const values = await variables.get<readonly Json[]>(name, { offset, limit });
        setError(undefined);
        setPages((all) => new Map([...all, ...pagesOf(values, first, pageRows)]));
      } catch (failure) {
        for (let page = first; page <= last; page++) asked.current.delete(page);
        setError(failure);
      }
    },
    [session, name, pageRows],
  );
  const need = useCallback(
    (from: number, to: number) => {
      const last = Math.ceil(Math.min(to, count) / pageRows) - 1;
      for (const run of missingRuns(asked.current, Math.floor(from / pageRows), last)) {
        for (let page = run.first; page <= run.last; page++) asked.current.add(page);
        void fetchPages(run.first, run.last);
      }
    },
    [count, pageRows, fetchPages],
  );
  const rows = useMemo(
    () => [...pages].sort(([a], [b]) => a - b).flatMap(([, page]) => page),
    [pages],
  );
  const columns = useMemo(() => columnsOf(pages.get(0) ?? rows), [pages, rows]);
  return {
    count,
    bytes,
    columns,
    rows,
    at: (index) => pages.get(Math.floor(index / pageRows))?.[index % pageRows],
    isWhole: rows.length >= count,
    mayBeWhole: bytes <= MAX_WHOLE_BYTES && count <= MAX_WHOLE_ROWS,
    ...(error === undefined ? {} : { error }),
    need,
  };
}

function pagesOf(values: readonly Json[], first: number, pageRows: number) {
  return Array.from({ length: Math.ceil(values.length / pageRows) }, (_, nth) => {
    const page = first + nth;
    const part = values.slice(nth * pageRows, (nth + 1) * pageRows);
    const rows = part.map((value, at) => ({ index: page * pageRows + at, value }));
    return [page, rows] as const;
  });
}

/** Pages in one request. */
const MAX_RUN = 25;

/** What of the pages from first to last nobody has asked for, in stretches. */
function missingRuns(asked: ReadonlySet<number>, first: number, last: number) {
  const runs: { first: number; last: number }[] = [];
  for (let page = first; page <= last; page++) {
    if (asked.has(page)) continue;
    const run = runs.at(-1);
    if (run !== undefined && run.last === page - 1 && page - run.first < MAX_RUN) run.last = page;
    else runs.push({ first: page, last: page });
  }
  return runs;
}
