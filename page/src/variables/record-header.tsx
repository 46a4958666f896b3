import { Icon } from "../icon.tsx";
import type { Column, Sorting } from "./records.ts";
import type { ColumnWidths } from "./use-column-widths.ts";

interface RecordHeaderProps {
  readonly columns: readonly Column[];
  readonly sorting: Sorting | undefined;
  readonly onSort: (column: string) => void;
  readonly resizing: ColumnWidths;
}

/** Column headers. A click sorts, dragging the right edge changes the width. */
export function RecordHeader({ columns, sorting, onSort, resizing }: RecordHeaderProps) {
  return (
    <div className="variables-header" role="rowgroup">
      <div className="variables-record" role="row" aria-rowindex={1}>
        <span className="variables-index" role="columnheader">
          <span className="unseen">Index</span>
        </span>
        {columns.map(({ name, isNumeric }) => {
          const isSorted = sorting?.column === name;
          const order = sorting?.isDescending === true ? "descending" : "ascending";
          return (
            <span
              key={name}
              role="columnheader"
              aria-sort={isSorted ? order : "none"}
              className={isNumeric ? "variables-number" : undefined}
            >
              <button
                type="button"
                title={`Sort by ${name}`}
                onClick={() => onSort(name)}
                onKeyDown={(event) => resizing.onKeyDown(name, event)}
              >
                {name}
                {isSorted ? <Icon name={order} size={16} /> : null}
              </button>
              <span
                className="variables-grip"
                aria-hidden="true"
                title="Drag to change the width; Alt with an arrow does the same"
                {...resizing.grip(name)}
              />
            </span>
          );
        })}
      </div>
    </div>
  );
}
