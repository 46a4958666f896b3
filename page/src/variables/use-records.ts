import { useQueries, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Json } from "../../../src/value/json.ts";
import { unchanging } from "../queries.ts";
import type { Session } from "../session.ts";
import { type Column, columnsOf, type Row } from "./records.ts";
import { versionKey } from "./value-path.ts";

/** An array that is loaded in parts, as it is viewed. */
export interface Records {
  /** Number of elements of the whole array. */
  readonly count: number;
  readonly bytes: number;
  readonly columns: readonly Column[];
  /** Loaded rows, in order. */
  readonly rows: readonly Row[];
  readonly at: (index: number) => Row | undefined;
  readonly isWhole: boolean;
  /** True if the array is small enough to load completely. */
  readonly mayBeWhole: boolean;
  readonly error?: unknown;
  /**
   * Loads the rows from `from` up to `to`, exclusive, unless they are loaded or being loaded. Retries after an
   * error.
   */
  readonly need: (from: number, to: number) => void;
}

/** Approximate bytes per request. */
const PAGE_BYTES = 131_072;
const MAX_PAGE_ROWS = 200;
/** Maximum bytes of an array that is loaded completely. */
const MAX_WHOLE_BYTES = 16_777_216;
const MAX_WHOLE_ROWS = 100_000;

/** Consecutive pages loaded by one request. */
interface Run {
  readonly first: number;
  readonly last: number;
}

export function useRecords(session: Session, info: VariableInfo): Records {
  const { name, count, bytes } = info;
  const pageRows = Math.max(
    1,
    Math.min(MAX_PAGE_ROWS, Math.floor((PAGE_BYTES * count) / Math.max(1, bytes))),
  );
  const [runs, setRuns] = useState<readonly Run[]>([]);
  const queries = useQueryClient();
  const { variables } = session.client.conversation(session.conversation);
  const { loaded, error } = useQueries({
    queries: runs.map(({ first, last }) => ({
      queryKey: [...versionKey(session, info), "rows", first, last],
      queryFn: async () => {
        const part = { offset: first * pageRows, limit: (last - first + 1) * pageRows };
        return pagesOf(await variables.get<readonly Json[]>(name, part), first, pageRows);
      },
      ...unchanging,
    })),
    combine: combined,
  });
  const pages = useMemo(() => new Map(loaded), [loaded]);
  const need = useCallback(
    (from: number, to: number) => {
      // Failed requests are repeated.
      void queries.refetchQueries({ queryKey: versionKey(session, info), stale: true });
      const last = Math.ceil(Math.min(to, count) / pageRows) - 1;
      setRuns((known) => [...known, ...missingRuns(known, Math.floor(from / pageRows), last)]);
    },
    [queries, session, info, count, pageRows],
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

/** Number and rows of a page. */
type Page = readonly [number, readonly Row[]];

function combined(results: readonly UseQueryResult<readonly Page[]>[]) {
  return {
    loaded: results.flatMap(({ data = [] }) => data),
    error: results.find(({ error }) => error !== null)?.error,
  };
}

function pagesOf(values: readonly Json[], first: number, pageRows: number): readonly Page[] {
  return Array.from({ length: Math.ceil(values.length / pageRows) }, (_, nth) => {
    const page = first + nth;
    const part = values.slice(nth * pageRows, (nth + 1) * pageRows);
    const rows = part.map((value, at) => ({ index: page * pageRows + at, value }));
    return [page, rows] as const;
  });
}

/** Maximum pages per request. */
const MAX_RUN = 25;

/** Returns the pages from first to last that are not loaded, grouped into requests. */
function missingRuns(known: readonly Run[], first: number, last: number): readonly Run[] {
  const runs: { first: number; last: number }[] = [];
  for (let page = first; page <= last; page++) {
    if (known.some((run) => run.first <= page && page <= run.last)) continue;
    const run = runs.at(-1);
    if (run !== undefined && run.last === page - 1 && page - run.first < MAX_RUN) run.last = page;
    else runs.push({ first: page, last: page });
  }
  return runs;
}
