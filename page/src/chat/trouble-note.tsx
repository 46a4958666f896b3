import { Button, IconButton } from "../controls.tsx";
import { Icon } from "../icon.tsx";
import { troubleOf } from "../words.ts";
import "./trouble-note.css";

interface TroubleNoteProps {
  readonly trouble: unknown;
  readonly retry?: () => void;
  readonly dismiss?: () => void;
}

/** Shows an error, with what can be done about it. Renders nothing without one. */
export function TroubleNote({ trouble, retry, dismiss }: TroubleNoteProps) {
  if (trouble == null) return null;
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
      {retry !== undefined && <Button onClick={retry}>Try again</Button>}
      {dismiss !== undefined && <IconButton icon="close" label="Close" onClick={dismiss} />}
    </div>
  );
}
