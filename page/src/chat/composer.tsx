import { type ClipboardEvent, type DragEvent, type RefObject, useRef, useState } from "react";
import type { ExampleQuestion } from "../../../src/edge/page-options.ts";
import { useConversation } from "../conversation-context.ts";
import { Icon } from "../icon.tsx";
import { Menu } from "../shell/menu.tsx";
import { UploadList } from "../variables/upload-list.tsx";
import { useUploads } from "../variables/use-uploads.ts";
import { QueuedMessages } from "./queued-messages.tsx";
import { useQueue } from "./use-queue.ts";
import "../variables/variables.css";
import "./composer.css";

interface ComposerProps {
  /** The agent that answers; undefined while the agents load. */
  readonly agent: string | undefined;
  /** Name of the model. */
  readonly model: string | undefined;
  readonly examples: readonly ExampleQuestion[];
  readonly onExample: (example: ExampleQuestion) => void;
  readonly isBusy: boolean;
  /** True if queued messages have to be sent by the user. */
  readonly isHeld: boolean;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly send: (text: string) => void;
  readonly stop: () => void;
}

/** Enter sends a message, Shift+Enter starts a new line. A message sent during an answer is queued. */
export function Composer(props: ComposerProps) {
  const { agent, isBusy, isHeld, field, send } = props;
  const [draft, setDraft] = useState("");
  const queue = useQueue({ isBusy, isHeld, send });
  const files = useFiles((name) => setDraft((text) => withReference(text, name)));
  const isEmpty = draft.trim() === "";
  const submit = () => {
    if (isEmpty) return;
    (isBusy ? queue.add : send)(draft.trim());
    setDraft("");
  };
  return (
    <>
      <QueuedMessages {...queue} canSend={isHeld && !isBusy} />
      <UploadList {...files.uploads} />
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        {...files.handlers}
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
            const isSent =
              event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing;
            if (!isSent) return;
            event.preventDefault();
            submit();
          }}
        />
        <Tools {...props} isEmpty={isEmpty} addFiles={files.uploads.add} />
      </form>
    </>
  );
}

interface ToolsProps extends ComposerProps {
  readonly isEmpty: boolean;
  readonly addFiles: (files: Iterable<File>) => void;
}

function Tools(props: ToolsProps) {
  const { model, examples, onExample, isBusy, isEmpty, stop, addFiles } = props;
  return (
    <div className="composer-tools">
      <FileButton onFiles={addFiles} />
      {examples.length > 0 && (
        <Menu
          label="Example questions"
          icon="talk"
          place="above"
          choices={examples.map((example) => ({
            icon: "talk",
            word: example.question,
            isOff: isBusy,
            act: () => onExample(example),
          }))}
        />
      )}
      <span className="composer-model" title="The model that answers">
        {model}
      </span>
      {isBusy && (
        <button type="button" className="composer-button" aria-label="Stop" onClick={stop}>
          <Icon name="stop" />
        </button>
      )}
      {(!isBusy || !isEmpty) && (
        <button
          type="submit"
          className="composer-button"
          aria-label={isBusy ? "Queue" : "Send"}
          title={isBusy ? "Sent when the answer ends" : undefined}
          disabled={isEmpty}
        >
          <Icon name="arrow" />
        </button>
      )}
    </div>
  );
}

function FileButton({ onFiles }: { readonly onFiles: (files: Iterable<File>) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label="Attach a file"
        title="Attach a file: it becomes a variable"
        onClick={() => input.current?.click()}
      >
        <Icon name="plus" />
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          target.value = "";
        }}
      />
    </>
  );
}

/** Saves files that are chosen, dropped or pasted. `onSaved` receives the name of each variable. */
function useFiles(onSaved: (name: string) => void) {
  const { session } = useConversation();
  const uploads = useUploads(session, onSaved);
  const take = (event: ClipboardEvent | DragEvent, data: DataTransfer) => {
    if (data.files.length === 0) return;
    event.preventDefault();
    uploads.add([...data.files]);
  };
  const handlers = {
    onPaste: (event: ClipboardEvent) => take(event, event.clipboardData),
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer.types.includes("Files")) event.preventDefault();
    },
    onDrop: (event: DragEvent) => take(event, event.dataTransfer),
  };
  return { uploads, handlers };
}

function withReference(text: string, name: string): string {
  return `${text}${text === "" || /\s$/.test(text) ? "" : " "}$${name} `;
}
