import {
  type ClipboardEvent,
  type ComponentProps,
  type KeyboardEvent,
  type MouseEventHandler,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import type { Decision } from "../../packages/client/src/client.ts";
import { ageWords, plural, problemWords, troubleOf } from "./words.ts";
import "./controls.css";
import { useNow } from "./hooks.ts";
import "./chat/trouble-note.css";
import "./chat/waiting-count.css";

/** Shows an error, and announces it to screen readers. Renders nothing without one. */
export function Problem({ error }: { readonly error: unknown }) {
  if (error == null) return null;
  return (
    <p className="variables-problem" role="alert">
      {problemWords(error)}
    </p>
  );
}

interface ButtonProps extends ComponentProps<"button"> {
  /** True for the action that most people want. */
  readonly isMain?: boolean;
}

/** A button. Submits its form only if its type says so. */
export function Button({ isMain = false, ...props }: ButtonProps) {
  return <button type="button" className={isMain ? "button button-main" : "button"} {...props} />;
}

interface IconButtonProps extends ComponentProps<"button"> {
  readonly icon: IconName;
  /** Name for screen readers. */
  readonly label: string;
  readonly isSmall?: boolean;
}

export function IconButton({ icon, label, isSmall = false, ...props }: IconButtonProps) {
  const className = isSmall ? "icon-button icon-small" : "icon-button";
  return (
    <Button className={className} aria-label={label} {...props}>
      <Icon name={icon} size={isSmall ? 16 : 18} />
    </Button>
  );
}

/**
 * True for a key that an input method takes: the Enter that chooses its characters, the Escape that discards them. In
 * Safari, such an Enter comes when the composition has ended.
 */
export function isOfInputMethod({ nativeEvent }: KeyboardEvent): boolean {
  return nativeEvent.isComposing || nativeEvent.keyCode === 229;
}

interface SubmitButtonsProps {
  readonly word: string;
  readonly isOff?: boolean;
  /** Default: there is no button for it. */
  readonly onCancel?: MouseEventHandler<HTMLButtonElement> | undefined;
  /** Default: submits the form. */
  readonly onClick?: () => void;
  readonly cancelWord?: string;
}

/** The buttons at the end of a form. */
export function SubmitButtons({ word, isOff, onClick, onCancel, cancelWord }: SubmitButtonsProps) {
  return (
    <div className="buttons">
      <Button isMain type={onClick ? "button" : "submit"} disabled={isOff} onClick={onClick}>
        {word}
      </Button>
      {onCancel && <Button onClick={onCancel}>{cancelWord ?? "Cancel"}</Button>}
    </div>
  );
}

interface FormProps extends Omit<ComponentProps<"form">, "onSubmit"> {
  /** Called with the fields, instead of a request to the server. */
  readonly onSubmit: (given: FormData) => void;
}

export function Form({ onSubmit, ...props }: FormProps) {
  return (
    <form
      {...props}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
    />
  );
}

interface DecisionFormProps {
  readonly isOff?: boolean;
  readonly decide: (decision: Decision, given: FormData) => void;
  /** What is decided about. */
  readonly children: ReactNode;
}

/** A form that approves or denies. */
export function DecisionForm({ isOff = false, decide, children }: DecisionFormProps) {
  const answer = (approved: boolean, given: FormData) => {
    const reason = String(given.get("reason")).trim();
    decide({ approved, ...(reason !== "" && { reason }) }, given);
  };
  return (
    <Form className="decision" onSubmit={(given) => answer(true, given)}>
      {children}
      <label className="decision-reason">
        Reason (optional)
        <input className="field" name="reason" maxLength={1_000} />
      </label>
      <SubmitButtons
        word="Approve"
        isOff={isOff}
        cancelWord="Deny"
        onCancel={({ currentTarget: { form } }) => form && answer(false, new FormData(form))}
      />
    </Form>
  );
}

interface SegmentsProps<Value extends string> {
  /** Name of the choice, for screen readers. */
  readonly label: string;
  readonly values: readonly Value[];
  readonly value: Value;
  readonly onChoose: (value: Value) => void;
  readonly className?: string;
}

/** A choice between a few options, side by side. Renders nothing if there is only one. */
export function Segments<Value extends string>(props: SegmentsProps<Value>) {
  const { label, values, value, onChoose, className = "" } = props;
  if (values.length < 2) return null;
  return (
    <div className={`segments ${className}`} role="group" aria-label={label}>
      {values.map((one) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChoose(one)}>
          {one}
        </button>
      ))}
    </div>
  );
}

interface ListItemProps extends Omit<ComponentProps<"button">, "name"> {
  readonly name: ReactNode;
  /** Time of the last change, ISO 8601. */
  readonly at: string;
  readonly facts: ReactNode;
  /** Another control in its row. */
  readonly beside?: ReactNode;
}

/** A button for one of a list of things. `children` are below its facts. */
export function ListItem({ name, at, facts, beside, children, ...button }: ListItemProps) {
  const now = useNow(10_000);
  return (
    <li className="item">
      <Button className="item-open" {...button}>
        <span className="item-line">
          {name}
          <time dateTime={at}>{ageWords(at, now)}</time>
        </span>
        <span className="item-facts">{facts}</span>
        {children}
      </Button>
      {beside}
    </li>
  );
}

/** An entry of a `dl`. Renders nothing without content. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  if (children === undefined) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The length of a bar, and its words. */
export type Bar = readonly [count: number, said: ReactNode];

/** What the model was sent, and what it would have been sent without references, on one scale. */
export function Bars({ sent, whole }: { readonly sent: Bar; readonly whole: Bar }) {
  const bars = [["Sent to the model", ...sent] as const, ["Without references", ...whole] as const];
  const most = Math.max(1, sent[0], whole[0]);
  return (
    <dl className="bars">
      {bars.map(([word, count, said]) => (
        <div key={word}>
          <dt>{word}</dt>
          <dd>{said}</dd>
          <dd className="bars-track" aria-hidden="true">
            <span style={{ width: `${(count / most) * 100}%` }} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Text in its own lines, which keys can scroll. */
export function Code({ label, ...props }: ComponentProps<"pre"> & { readonly label: string }) {
  return <pre className="tool-json" role="group" tabIndex={0} aria-label={label} {...props} />;
}

interface FileButtonProps extends ComponentProps<"label"> {
  /** Name of the field. */
  readonly label: string;
  /** Endings and media types. */
  readonly accept?: string;
  readonly onFiles: (files: readonly File[]) => void;
}

/** A field for files that looks like its children. */
export function FileButton({ label, accept, className = "", onFiles, ...props }: FileButtonProps) {
  return (
    <label className={`file ${className}`} {...props}>
      {props.children}
      <input
        type="file"
        multiple
        className="unseen"
        aria-label={label}
        accept={accept}
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          target.value = "";
        }}
      />
    </label>
  );
}

interface DialogProps {
  readonly label?: string;
  /** Heading of the dialog, and its name. */
  readonly title?: string;
  readonly className?: string;
  readonly onClose: () => void;
  /** Receives a function that closes the dialog. */
  readonly children: (close: () => void) => ReactNode;
}

/** A modal dialog. Escape closes it. */
export function Dialog({ label, title, className = "confirm", onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const name = title === undefined ? { "aria-label": label } : { "aria-labelledby": heading };
  return (
    <dialog ref={dialog} className={className} {...name} onClose={onClose}>
      {title !== undefined && (
        <h2 id={heading} className="confirm-title">
          {title}
        </h2>
      )}
      {children(() => dialog.current?.close())}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly text: string;
  readonly word: string;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** Dialog before an action that cannot be undone. */
export function Confirm({ title, text, word, onYes, onNo }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onNo}>
      {() => (
        <>
          <p className="confirm-text">{text}</p>
          <div className="confirm-buttons">
            <Button onClick={onNo}>Cancel</Button>
            <Button className="button button-bad" onClick={onYes}>
              {word}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}

interface CopyButtonProps {
  readonly text: string;
  /** Name of the button. Default: names the text. */
  readonly label?: string;
  readonly className?: string;
}

const SAID_MS = 1_600;

/** Copies a text to the clipboard, and shows that it was copied. */
export function CopyButton({ text, label = `Copy ${text}`, ...props }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SAID_MS);
  };
  return (
    <IconButton
      isSmall
      {...props}
      icon={isCopied ? "check" : "copy"}
      label={isCopied ? "Copied" : label}
      title={label}
      onClick={() => void copy()}
    />
  );
}

/** Copies a number or a long text as it is stored, if it alone is selected: it may be shown shorter. */
export function copyExact(event: ClipboardEvent): void {
  const selection = getSelection();
  const shown = selection?.anchorNode?.parentElement?.closest<HTMLElement>("[data-value]");
  const value = shown?.dataset["value"];
  if (value === undefined || selection?.toString().trim() !== shown?.textContent) return;
  event.clipboardData.setData("text/plain", value);
  event.preventDefault();
}

async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The clipboard does not exist without TLS, and may be forbidden.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

/** Downloads what a URL names, as a file of this name. */
export function download(href: string, name: string): void {
  Object.assign(document.createElement("a"), { href, download: name }).click();
}

type Targets = Readonly<Record<string, HTMLElement | null | undefined>>;

/** Moves the focus through the visible items of a list with Up and Down, around its ends, Home and End. */
export function moveFocus(event: KeyboardEvent, selector: string, others: Targets = {}): void {
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(selector)];
  const items = all.filter(({ offsetParent }) => offsetParent !== null);
  // The focus may be on another element of an item's row.
  const { activeElement } = document;
  const inRow = items.findIndex((item) => item.parentElement?.contains(activeElement));
  const at = Math.max(
    inRow,
    items.findIndex((item) => item === activeElement),
  );
  const lists: Targets = {
    ArrowDown: items[(at + 1) % items.length],
    ArrowUp: items.at(Math.max(0, at) - 1),
  };
  const target = { ...lists, Home: items[0], End: items.at(-1), ...others }[event.key];
  if (target === undefined || target === null) return;
  event.preventDefault();
  event.stopPropagation();
  target.focus();
}

/** Paths with a stroke width of 1.6 in a 20 × 20 box. */
const paths = {
  arrow: "M10 16V4m0 0L5 9m5-5 5 5",
  ascending: "M10 15.62v-11.25M6 8.25 10 4.38l4 3.88",
  back: "M12.25 4 6.25 10l6 6",
  check: "m4.5 10.5 3.5 3.5 7.5-8",
  chevron: "m6 8 4 4 4-4",
  close: "m5 5 10 10M15 5 5 15",
  copy: "M7 7V4h9v9h-3M4 7h9v9H4z",
  descending: "M10 4.38v11.25M6 11.75 10 15.62l4-3.88",
  dots: "M3.8 10a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0m5.5 0a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0m5.5 0a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0",
  download: "M10 3v9m0 0-4-4m4 4 4-4M4 16h12",
  edit: "M12.5 4.5l3 3L7 16H4v-3z",
  events: "M4 5h12M4 10h12M4 15h7",
  fork: "M6 4v12M6 10h5a3 3 0 0 0 3-3V4M4 4h4M12 4h4",
  keyboard:
    "M2.5 5.5h15v9h-15zM5.500 8.500h.01M8.500 8.500h.01M11.500 8.500h.01M14.500 8.500h.01M7 11.500h6",
  list: "M3.5 4.5h13v11h-13zM8 4.5v11",
  meter: "M4 16V9m4 7V4m4 12v-5m4 5V7",
  moon: "M16 11.5A6.5 6.5 0 0 1 8.5 4 6.5 6.5 0 1 0 16 11.5z",
  open: "m7.5 4 6 6L7.5 16",
  pin: "M7.5 3.12h5M8.12 3.12v5L5.62 11.25h8.75l-2.5-3.12v-5M10 11.25v5.62",
  plans: "M4 4h4v4H4zM12 12h4v4h-4zM8 6h3a3 3 0 0 1 3 3v3",
  plus: "M10 4v12M4 10h12",
  retry: "M15.5 10a5.5 5.5 0 1 1-1.6-3.900M15.5 3.500v3h-3",
  run: "M6.5 4v12l9-6z",
  settings:
    "M3.12 6.25h6.25M13.12 6.25h3.75M3.12 13.75h3.75M10.62 13.75h6.25M11.25 4.38v3.75M8.75 11.88v3.75",
  stop: "M6 6h8v8H6z",
  sun: "M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2.500v1.500M10 16v1.500M2.5 10H4M16 10h1.500M4.7 4.700l1 1M14.3 14.300l1 1M4.7 15.300l1-1M14.3 5.700l1-1",
  talk: "M3.5 4.500h13v9h-8l-3.5 3v-3h-1.500z",
  trash: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.600L14 6",
  upload: "M10 12V3m0 0L6 7m4-4 4 4M4 16h12",
  variables: "M7 4c-3 0-1 6-4 6 3 0 1 6 4 6M13 4c3 0 1 6 4 6-3 0-1 6-4 6",
  wide: "M12 4h4v4M16 4l-5 5M8 16H4v-4M4 16l5-5",
  warning: "M10 3.5 17 16H3zM10 8v4M10 14h.01",
} as const;

export type IconName = keyof typeof paths;

/** A decorative icon, hidden from screen readers. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      aria-hidden="true"
      className={`icon icon-${name}`}
      width={size}
      height={size}
      viewBox="0 0 20 20"
    >
      <path d={paths[name]} />
    </svg>
  );
}

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

export function approvalsInWords(count: number): string {
  return `${plural(count, "approval")} needed`;
}

/** Number of open approvals. Renders nothing for 0. */
export function WaitingCount({ count }: { readonly count: number }) {
  if (count === 0) return null;
  return (
    <span className="waiting-count" title={approvalsInWords(count)}>
      <span aria-hidden="true">{count}</span>
      <span className="unseen">{approvalsInWords(count)}</span>
    </span>
  );
}
