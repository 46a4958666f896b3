import { useQueries, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Json } from "../../../src/value/json.ts";
import { unchanging } from "../queries.ts";
import type { Session } from "../session.ts";
import { type Column, columnsOf, type Row } from "./records.ts";
import { versionKey } from "./value-path.ts";

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
  /** Gets these, from the first to before the last, unless they are here or on their way. After an error again. */
  readonly need: (from: number, to: number) => void;
}

/** Rows that are asked for at once, by their size. */
const PAGE_BYTES = 131_072;
const MAX_PAGE_ROWS = 200;
/** What a page holds of one array without harm. */
const MAX_WHOLE_BYTES = 16_777_216;
const MAX_WHOLE_ROWS = 100_000;

/** A stretch of pages that is asked for at once, with its last page. */
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
      // What has failed is asked for again.
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

/** Rows of a page, with its number. */
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

/** Pages in one request. */
const MAX_RUN = 25;

/** What of the pages from first to last nobody has asked for, in stretches. */
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
