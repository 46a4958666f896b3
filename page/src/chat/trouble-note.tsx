import { Icon } from "../icon.tsx";
import { troubleOf } from "../words.ts";
import "./trouble-note.css";

interface TroubleNoteProps {
  readonly trouble: unknown;
  readonly retry?: () => void;
  readonly dismiss?: () => void;
}

/** Shows an error, with what can be done about it. */
export function TroubleNote({ trouble, retry, dismiss }: TroubleNoteProps) {
  const { title, detail, code } = troubleOf(trouble);
  return (
    <div className="trouble" role="alert">
      <Icon name="warning" />
      <div className="trouble-text">
        <p className="trouble-title">{title}</p>
        <p>
          {detail} {code !== undefined && <code>{code}</code>}
        </p>
      </div>
      {retry !== undefined && (
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      )}
      {dismiss !== undefined && (
        <button type="button" className="icon-button" aria-label="Close" onClick={dismiss}>
          <Icon name="close" />
        </button>
      )}
    </div>
  );
}
