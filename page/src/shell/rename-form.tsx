import { useState } from "react";

interface RenameFormProps {
  readonly className: string;
  /** Name of the field, for screen readers. */
  readonly label: string;
  readonly title: string;
  /** Called with the new title, or without one to keep the old title. */
  readonly onDone: (title?: string) => void;
}

/** Field for a title. Enter saves, Escape cancels. */
export function RenameForm({ className, label, title, onDone }: RenameFormProps) {
  const [draft, setDraft] = useState(title);
  const isNew = draft.trim() !== "" && draft.trim() !== title;
  const save = () => onDone(isNew ? draft.trim() : undefined);
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <input
        className="field"
        aria-label={label}
        value={draft}
        maxLength={200}
        autoFocus
        onFocus={({ target }) => target.select()}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={save}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "Escape") onDone();
        }}
      />
    </form>
  );
}
