import { type KeyboardEvent, type PointerEvent, useState } from "react";

const MIN_PX = 48;
const STEP_PX = 24;

export interface ColumnWidths {
  /** Widths chosen by the user, in pixels, by column. */
  readonly widths: ReadonlyMap<string, number>;
  /** Handlers of a column's grip: drag to resize, double-click to reset. */
  readonly grip: (column: string) => {
    readonly onPointerDown: (event: PointerEvent<HTMLElement>) => void;
    readonly onDoubleClick: () => void;
  };
  /** Handler of a column's header: Alt with an arrow key changes its width. */
  readonly onKeyDown: (column: string, event: KeyboardEvent<HTMLElement>) => void;
}

/** Widths of a table's columns. By default they follow from the content. */
export function useColumnWidths(): ColumnWidths {
  const [widths, setWidths] = useState<ReadonlyMap<string, number>>(new Map());
  const set = (column: string, width: number) =>
    setWidths((all) => new Map(all).set(column, Math.max(MIN_PX, Math.round(width))));
  const reset = (column: string) =>
    setWidths((all) => new Map([...all].filter(([name]) => name !== column)));
  return {
    widths,
    grip: (column) => ({
      onPointerDown: (event) => {
        const { currentTarget: grip, clientX, pointerId } = event;
        const before = widthOf(grip);
        event.preventDefault();
        grip.setPointerCapture(pointerId);
        const move = (moved: globalThis.PointerEvent) => {
          set(column, before + moved.clientX - clientX);
        };
        grip.addEventListener("pointermove", move);
        const stop = () => grip.removeEventListener("pointermove", move);
        grip.addEventListener("lostpointercapture", stop, { once: true });
      },
      onDoubleClick: () => reset(column),
    }),
    onKeyDown: (column, event) => {
      const step = { ArrowRight: STEP_PX, ArrowLeft: -STEP_PX }[event.key];
      if (!event.altKey || step === undefined) return;
      event.preventDefault();
      set(column, widthOf(event.currentTarget) + step);
    },
  };
}

function widthOf(inHeader: HTMLElement): number {
  return inHeader.closest("[role=columnheader]")?.getBoundingClientRect().width ?? MIN_PX;
}
