import { useQueries, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Json } from "../../../src/value/json.ts";
import { useConversation } from "../conversation-context.ts";
import { unchanging } from "../queries.ts";
import type { Session } from "../session.ts";
import { type Column, columnsOf, type Row } from "./records.ts";

/** An array that is loaded in parts, as it is viewed. */
export interface Records {
  /** Number of elements of the whole array. */
  readonly count: number;
  readonly bytes: number;
  readonly columns: readonly Column[];
  /** Loaded rows, in order. */
  readonly rows: readonly Row[];
  readonly at: (index: number) => Row | undefined;
  readonly error?: unknown;
  /** Runs a query over the whole array. Absent for records that are in memory. */
  readonly query?: (sql: string) => Promise<readonly { readonly at?: Json }[]>;
  /**
   * Loads the rows from `from` up to `to`, exclusive, unless they are loaded or being loaded. Retries after an
   * error.
   */
  readonly need: (from: number, to: number) => void;
}

/** Approximate bytes per request. */
const PAGE_BYTES = 131_072;
const MAX_PAGE_ROWS = 200;

/** Consecutive pages loaded by one request. */
interface Run {
  readonly first: number;
  readonly last: number;
}

/** Start of the query keys of this version. */
export function versionKey({ id }: Session["conversation"], info: VariableInfo) {
  return ["conversation", id, "value", info.name, `${info.version}/${info.updatedAt}`];
}

export function useRecords(info: VariableInfo): Records {
  const { name, count, bytes } = info;
  const fitting = Math.floor((PAGE_BYTES * count) / Math.max(1, bytes));
  const pageRows = Math.max(1, Math.min(MAX_PAGE_ROWS, fitting));
  const [runs, setRuns] = useState<readonly Run[]>([]);
  const queries = useQueryClient();
  const { conversation } = useConversation().session;
  const { loaded, error } = useQueries({
    queries: runs.map(({ first, last }) => ({
      queryKey: [...versionKey(conversation, info), "rows", first, last],
      queryFn: async (): Promise<readonly Row[]> => {
        const offset = first * pageRows;
        const part = { offset, limit: (last - first + 1) * pageRows };
        const values = await conversation.variables.get<readonly Json[]>(name, part);
        return values.map((value, at) => ({ index: offset + at, value }));
      },
      ...unchanging,
    })),
    combine: combined,
  });
  const rows = useMemo(() => loaded.toSorted((a, b) => a.index - b.index), [loaded]);
  const byIndex = useMemo(() => new Map(rows.map((row) => [row.index, row])), [rows]);
  // Those of the first page, which are the same while scrolling.
  const columns = useMemo(() => columnsOf(rows.slice(0, pageRows)), [rows, pageRows]);
  const need = useCallback(
    (from: number, to: number) => {
      // Failed requests are repeated.
      void queries.refetchQueries({ queryKey: versionKey(conversation, info), stale: true });
      const last = Math.ceil(Math.min(to, count) / pageRows) - 1;
      setRuns((known) => [...known, ...missingRuns(known, Math.floor(from / pageRows), last)]);
    },
    [queries, conversation, info, count, pageRows],
  );
  const query = useCallback((sql: string) => conversation.query(sql), [conversation]);
  return {
    count,
    bytes,
    columns,
    rows,
    at: (index) => byIndex.get(index),
    ...(error === undefined ? {} : { error }),
    need,
    query,
  };
}

function combined(results: readonly UseQueryResult<readonly Row[]>[]) {
  return {
    loaded: results.flatMap(({ data = [] }) => data),
    error: results.find(({ error }) => error !== null)?.error,
  };
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
