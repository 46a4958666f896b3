import {
  type ClipboardEvent,
  type DragEvent,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from "react";
import { Button, FileButton, IconButton } from "../controls.tsx";
import { useCompletions } from "../references/completion-list.tsx";
import { UploadList, useUploads } from "../variables/uploads.tsx";
import "../variables/variables.css";
import "./composer.css";
import "./queued-messages.css";

interface ComposerProps {
  /** The agent that answers; undefined while the agents load. */
  readonly agent: string | undefined;
  /** Name of the model. */
  readonly model: string | undefined;
  readonly onSaved: () => void;
  readonly isBusy: boolean;
  /** True after a stop, after a failure and while an approval is open. The user then decides what is sent. */
  readonly isHeld: boolean;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly send: (text: string) => void;
  readonly stop: () => void;
}

/** Enter sends a message, Shift+Enter starts a new line. A message sent during an answer is queued. */
export function Composer(props: ComposerProps) {
  const { agent, isBusy, isHeld, field, send, onSaved } = props;
  const [draft, setDraft] = useState("");
  const completions = useCompletions({ field, setDraft });
  const queue = useQueue({ isBusy, isHeld, send });
  const uploads = useUploads((name) => {
    setDraft((text) => withReference(text, name));
    onSaved();
  });
  const isEmpty = draft.trim() === "";
  const submit = () => {
    if (isEmpty) return;
    (isBusy ? queue.add : send)(draft.trim());
    setDraft("");
  };
  const take = (event: ClipboardEvent | DragEvent, { files }: DataTransfer) => {
    if (files.length === 0) return;
    event.preventDefault();
    uploads.add([...files]);
  };
  return (
    <>
      <QueuedMessages {...queue} canSend={isHeld && !isBusy} />
      <UploadList {...uploads} />
      {completions.list}
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        onPaste={(event) => take(event, event.clipboardData)}
        onDrop={(event) => take(event, event.dataTransfer)}
        onDragOver={(event) => {
          if (event.dataTransfer.types.includes("Files")) event.preventDefault();
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
          {...completions.attributes}
          onKeyDown={(event) => {
            if (completions.onKeyDown(event)) return event.preventDefault();
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
        <Tools {...props} isEmpty={isEmpty} addFiles={uploads.add} />
      </form>
    </>
  );
}

interface ToolsProps extends ComposerProps {
  readonly isEmpty: boolean;
  readonly addFiles: (files: Iterable<File>) => void;
}

function Tools(props: ToolsProps) {
  const { model, isBusy, isEmpty, stop, addFiles } = props;
  return (
    <div className="composer-tools">
      <FileButton
        label="Files to attach"
        onFiles={addFiles}
        button={(open) => (
          <IconButton
            icon="plus"
            label="Attach a file"
            title="Attach a file: it becomes a variable"
            onClick={open}
          />
        )}
      />
      <span className="composer-model" title="The model that answers">
        {model}
      </span>
      {isBusy && <IconButton className="composer-button" icon="stop" label="Stop" onClick={stop} />}
      {(!isBusy || !isEmpty) && (
        <IconButton
          type="submit"
          className="composer-button"
          icon="arrow"
          label={isBusy ? "Queue" : "Send"}
          title={isBusy ? "Sent when the answer ends" : undefined}
          disabled={isEmpty}
        />
      )}
    </div>
  );
}

function withReference(text: string, name: string): string {
  return `${text}${text === "" || /\s$/.test(text) ? "" : " "}$${name} `;
}

interface QueuedMessage {
  readonly id: number;
  readonly text: string;
}

/** Queues messages sent during an answer, and sends them one by one when it ends. */
function useQueue({ isBusy, isHeld, send }: Pick<ComposerProps, "isBusy" | "isHeld" | "send">) {
  const [queued, setQueued] = useState<readonly QueuedMessage[]>([]);
  const lastId = useRef(0);
  // True between sending a message and the start of its answer.
  const isStarting = useRef(false);
  const remove = ({ id }: QueuedMessage) => setQueued((all) => all.filter((one) => one.id !== id));
  const sendNow = (message: QueuedMessage) => {
    remove(message);
    send(message.text);
  };
  const [next] = queued;
  useEffect(() => {
    if (isBusy) isStarting.current = false;
    if (isBusy || isHeld || isStarting.current || next === undefined) return;
    isStarting.current = true;
    sendNow(next);
  }, [isBusy, isHeld, next, send]);
  const add = (text: string) => {
    const id = ++lastId.current;
    setQueued((all) => [...all, { id, text }]);
  };
  return { queued, add, remove, sendNow };
}

interface QueuedMessagesProps extends ReturnType<typeof useQueue> {
  readonly canSend: boolean;
}

/** Messages to send when the answer ends. */
function QueuedMessages({ queued, remove, sendNow, canSend }: QueuedMessagesProps) {
  return (
    <ul className="queued" aria-label="Queued messages" aria-live="polite">
      {queued.map((message) => (
        <li key={message.id} className="queued-one">
          <span className="queued-word">Queued</span>
          <span className="queued-text">{message.text}</span>
          {canSend && (
            <Button className="link-button" onClick={() => sendNow(message)}>
              Send now
            </Button>
          )}
          <IconButton
            className="icon-button queued-remove"
            icon="close"
            label={`Remove “${message.text.slice(0, 40)}” from the queue`}
            size={14}
            onClick={() => remove(message)}
          />
        </li>
      ))}
    </ul>
  );
}
