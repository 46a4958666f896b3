import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { Button, FileButton, Form, Icon, IconButton, isOfInputMethod } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";
import { UploadList, useUploads } from "../variables/uploads.tsx";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { parseShape, type Shape } from "../../../src/value/parse-shape.ts";
import { formatPath } from "../../../src/references.ts";
import { countWords, messageIn } from "../words.ts";
import "../variables/variables.css";
import "./composer.css";
import "./queued-messages.css";
import "../references/completion-list.css";

interface ComposerProps {
  readonly isBusy: boolean;
  /** True after a stop, after a failure and while an approval is open. The user then decides what is sent. */
  readonly isHeld: boolean;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly send: (text: string) => void;
  readonly stop: () => void;
}

/** Enter sends a message, Shift+Enter starts a new line. A message sent during an answer is queued. */
export function Composer({ isBusy, isHeld, field, send, stop }: ComposerProps) {
  const { agent, described, onBegin } = useConversation();
  const [draft, setDraft] = useState("");
  const completions = useCompletions({ field, setDraft });
  const queue = useQueue({ isBusy, isHeld, send });
  const uploads = useUploads((name) => {
    setDraft((text) => withReference(text, name));
    onBegin();
  });
  const message = messageIn(draft);
  const isEmpty = message === "";
  const submit = () => {
    if (isEmpty) return;
    (isBusy ? queue.add : send)(message);
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
      <Form
        className="composer"
        onSubmit={submit}
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
            if (isOfInputMethod(event)) return;
            if (completions.onKeyDown(event)) return event.preventDefault();
            if (event.key !== "Enter" || event.shiftKey) return;
            event.preventDefault();
            submit();
          }}
        />
        <div className="composer-tools">
          <FileButton
            className="icon-button"
            label="Files to attach"
            title="Attach a file: it becomes a variable"
            onFiles={uploads.add}
          >
            <Icon name="plus" />
          </FileButton>
          <span className="composer-model" title="The model that answers">
            {described.model?.id}
          </span>
          {isBusy && (
            <IconButton className="composer-button" icon="stop" label="Stop" onClick={stop} />
          )}
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
      </Form>
    </>
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

type QueuedMessagesProps = ReturnType<typeof useQueue> & { readonly canSend: boolean };

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
            isSmall
            icon="close"
            label={`Remove “${message.text.slice(0, 40)}” from the queue`}
            onClick={() => remove(message)}
          />
        </li>
      ))}
    </ul>
  );
}

interface Completing {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly setDraft: (text: string) => void;
}

/** Offers the references that the text before the caret may mean. The arrow keys choose, Enter and Tab take one. */
function useCompletions({ field, setDraft }: Completing) {
  const { variables } = useConversation();
  const id = useId();
  const [before, setBefore] = useState("");
  const [chosen, setChosen] = useState<number>();
  const found = completionsFor(before, variables);
  const all = found?.all ?? [];
  const at = chosen ?? (found?.isWhole === true ? -1 : 0);
  const close = () => setBefore("");
  const look = () => {
    const { value = "", selectionStart = 0, selectionEnd = 0 } = field.current ?? {};
    setBefore(selectionStart === selectionEnd ? value.slice(0, selectionStart) : "");
    setChosen(undefined);
  };
  const take = ({ reference }: Completion) => {
    field.current?.setRangeText(reference, found?.from ?? 0, before.length, "end");
    field.current?.focus();
    setDraft(field.current?.value ?? "");
    look();
  };
  /** True if the key was for the list. */
  const onKeyDown = ({ key, shiftKey }: KeyboardEvent): boolean => {
    if (all.length === 0 || shiftKey) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    const one = key === "Enter" || key === "Tab" ? all[at] : undefined;
    if (step !== undefined) setChosen((Math.max(at, -step) + step + all.length) % all.length);
    else if (key === "Escape") close();
    else if (one !== undefined) take(one);
    return step !== undefined || key === "Escape" || one !== undefined;
  };
  const list = all.length > 0 && (
    <ul className="completions" id={id} role="listbox" aria-label="References">
      {all.map((one, index) => (
        <li
          key={one.reference}
          id={`${id}${index}`}
          className="completions-one"
          role="option"
          aria-selected={index === at}
          onPointerDown={(event) => {
            event.preventDefault();
            take(one);
          }}
        >
          <code className="reference-name">{one.reference}</code>
          <span>{one.about}</span>
        </li>
      ))}
    </ul>
  );
  const attributes = {
    "aria-autocomplete": "list" as const,
    "aria-controls": all.length > 0 ? id : undefined,
    "aria-activedescendant": all.length > 0 && at >= 0 ? `${id}${at}` : undefined,
    onSelect: look,
    onBlur: close,
  };
  return { list, onKeyDown, attributes };
}

/** A reference that may be meant. */
interface Completion {
  readonly reference: string;
  /** What it finds: its size and shape, or its types. */
  readonly about: string;
}

export interface Completions {
  /** Where the reference begins in the text. */
  readonly from: number;
  readonly all: readonly Completion[];
  /** True if what is written is a reference already. */
  readonly isWhole: boolean;
}

type Known = Pick<VariableInfo, "name" | "type" | "count" | "mediaType" | "shape" | "updatedAt">;

const MOST = 8;
const WRITTEN = /(?:^|[^\w$])\$((?:[A-Za-z_]\w*)?)((?:\.\w*|\[[^\]\s]*\]?)*)$/;
const SEGMENT = /\.\w*|\[[^\]\s]*\]?/g;

/** Completes the reference at the end of a text: names, the newest first, and the paths that a shape has. */
export function completionsFor(
  text: string,
  variables: ReadonlyMap<string, Known>,
): Completions | undefined {
  const [found, name = "", path = ""] = WRITTEN.exec(text) ?? [];
  if (found === undefined) return undefined;
  const written = `$${name}${path}`;
  const variable = variables.get(name);
  const segments = path.match(SEGMENT) ?? [];
  const shape = variable && within(parseShape(variable.shape), segments);
  const before = variable && within(parseShape(variable.shape), segments.slice(0, -1));
  const start = `$${name}${segments.slice(0, -1).join("")}`;
  const paths = [
    ...(path === "" ? [] : partsOf(before ?? []).map((part) => [start, part] as const)),
    ...partsOf(shape ?? []).map((part) => [written, part] as const),
  ].map(([base, [part, kinds]]) => ({
    reference: `${base}${part}`,
    about: kinds.map(word).join(" | "),
  }));
  const names = [...variables.values()]
    .filter((one) => path === "" && one.name.toLowerCase().startsWith(name.toLowerCase()))
    .toSorted((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt))
    .map((one) => ({ reference: `$${one.name}`, about: `${countWords(one)} ${one.shape}` }));
  const matches = [...names, ...paths].filter(
    ({ reference }) => reference !== written && reference.startsWith(path === "" ? "$" : written),
  );
  const isWhole = variable !== undefined && (path === "" || shape !== undefined);
  return { from: text.length - written.length, all: matches.slice(0, MOST), isWhole };
}

type Part = readonly [written: string, shape: Shape];

/** What can follow a reference to a value of this shape. */
function partsOf(shape: Shape): readonly Part[] {
  return shape.flatMap((kind): readonly Part[] => {
    if (typeof kind === "string") return [];
    if ("keys" in kind) return kind.keys.map((one) => [formatPath([{ key: one.key }]), one.shape]);
    return [
      ["[*]", kind.elements],
      ["[0]", kind.elements],
      ["[:10]", [kind]],
    ];
  });
}

/** Returns the shape at the end of a path; undefined if there is none. */
function within(shape: Shape, segments: readonly string[]): Shape | undefined {
  const [first, ...others] = segments;
  if (first === undefined) return shape;
  const written = /^\[-?\d+\]$/.test(first) ? "[0]" : first.replace(/^\[-?\d*:-?\d*\]$/, "[:10]");
  const part = partsOf(shape).find(([one]) => one === written);
  return part && within(part[1], others);
}

function word(kind: Shape[number]): string {
  if (typeof kind === "string") return kind;
  return "keys" in kind ? "object" : "list";
}
