import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "../icon.tsx";
import "./wide-table.css";

interface WideTableProps {
  readonly name: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** A table that covers the page. */
export function WideTable({ name, children, onClose }: WideTableProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="wide-table" aria-label={`$${name}, wide`} onClose={onClose}>
      <header className="wide-table-head">
        <h2>${name}</h2>
        <button
          type="button"
          className="icon-button"
          aria-label="Close the wide table"
          onClick={() => dialog.current?.close()}
        >
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
