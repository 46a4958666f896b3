import { useEffect, useId, useRef } from "react";
import "./confirm.css";

interface ConfirmProps {
  readonly title: string;
  readonly text: string;
  readonly word: string;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** Dialog before an action that cannot be undone. */
export function Confirm({ title, text, word, onYes, onNo }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="confirm" aria-labelledby={heading} onClose={onNo}>
      <h2 id={heading} className="confirm-title">
        {title}
      </h2>
      <p className="confirm-text">{text}</p>
      <div className="confirm-buttons">
        <button type="button" className="button" onClick={onNo}>
          Cancel
        </button>
        <button type="button" className="button button-bad" onClick={onYes}>
          {word}
        </button>
      </div>
    </dialog>
  );
}
