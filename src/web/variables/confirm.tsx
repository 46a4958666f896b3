interface ConfirmProps {
  readonly question: string;
  readonly yes: string;
  readonly no: string;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** Asks once more before what cannot be undone; who only presses Enter changes nothing. */
export function Confirm({ question, yes, no, onYes, onNo }: ConfirmProps) {
  return (
    <div
      className="variables-confirm"
      role="alertdialog"
      aria-label={question}
      onKeyDown={({ key }) => {
        if (key === "Escape") onNo();
      }}
    >
      <p>{question}</p>
      <button type="button" className="variables-danger" onClick={onYes}>
        {yes}
      </button>
      <button type="button" className="variables-button" autoFocus onClick={onNo}>
        {no}
      </button>
    </div>
  );
}
