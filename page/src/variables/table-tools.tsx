import { Icon } from "../icon.tsx";
import type { Records } from "./use-records.ts";
import { bytesInWords, figure } from "../words.ts";

interface TableToolsProps {
  readonly records: Records;
  /** Number of rows after filtering or sorting. Default: all rows. */
  readonly found: number | undefined;
  readonly filter: string;
  readonly onFilter: (text: string) => void;
  /** Opens the table over the page; undefined if it is open. */
  readonly onWide: (() => void) | undefined;
  /** Loads all rows; undefined if they are loaded or too many. */
  readonly onAll: (() => void) | undefined;
}

/** The filter, and the number of rows found. */
export function TableTools({ records, found, filter, onFilter, onWide, onAll }: TableToolsProps) {
  const { count, rows, bytes, isWhole } = records;
  const isOfPart = found !== undefined && !isWhole;
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
        {found === undefined
          ? `${figure(count)} rows`
          : `${figure(found)} of ${figure(isOfPart ? rows.length : count)} rows`}
      </span>
      {onWide === undefined ? null : (
        <button type="button" className="variables-tool" onClick={onWide}>
          <Icon name="wide" size={16} />
          Open wide
        </button>
      )}
      {isOfPart ? (
        <p className="variables-hint">
          Sorts and filters the {figure(rows.length)} loaded rows of {figure(count)}.{" "}
          {onAll === undefined ? (
            "The table is too large to load whole."
          ) : (
            <button type="button" className="link-button" onClick={onAll}>
              Load all, {bytesInWords(bytes)}
            </button>
          )}
        </p>
      ) : null}
    </div>
  );
}
