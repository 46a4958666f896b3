import { type RefObject, useState } from "react";
import { Icon } from "../icon.tsx";
import "./composer.css";

interface ComposerProps {
  /** The agent that answers; undefined while the agents load. */
  readonly agent: string | undefined;
  readonly isBusy: boolean;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly send: (text: string) => void;
  readonly stop: () => void;
}

/** Enter sends, with Shift it begins a line. While an answer is written its button stops that. */
export function Composer({ agent, isBusy, field, send, stop }: ComposerProps) {
  const [draft, setDraft] = useState("");
  const isEmpty = draft.trim() === "";
  const submit = () => {
    if (isEmpty || isBusy) return;
    send(draft.trim());
    setDraft("");
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={field}
        className="composer-field"
        aria-label="Message"
        placeholder={agent === undefined ? "Message…" : `Message ${agent}…`}
        rows={1}
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onKeyDown={(event) => {
          const isSent = event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing;
          if (!isSent) return;
          event.preventDefault();
          submit();
        }}
      />
      {isBusy ? (
        <button type="button" className="composer-button" aria-label="Stop" onClick={stop}>
          <Icon name="stop" />
        </button>
      ) : (
        <button type="submit" className="composer-button" aria-label="Send" disabled={isEmpty}>
          <Icon name="arrow" />
        </button>
      )}
    </form>
  );
}
