import {
  type ClipboardEvent,
  type ComponentProps,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { Icon, type IconName } from "./icon.tsx";
import "./controls.css";

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
  readonly size?: number;
}

export function IconButton({ icon, label, size = 18, ...props }: IconButtonProps) {
  return (
    <Button className="icon-button" aria-label={label} {...props}>
      <Icon name={icon} size={size} />
    </Button>
  );
}

interface SubmitButtonsProps {
  readonly word: string;
  readonly isOff?: boolean;
  /** Default: there is no button for it. */
  readonly onCancel?: (() => void) | undefined;
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

interface FileButtonProps {
  /** Name of the field. */
  readonly label: string;
  /** The button, which opens the field. */
  readonly button: (open: () => void) => ReactNode;
  readonly onFiles: (files: readonly File[]) => void;
}

export function FileButton({ label, button, onFiles }: FileButtonProps) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      {button(() => field.current?.click())}
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label={label}
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          target.value = "";
        }}
      />
    </>
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
      className="variables-action"
      {...props}
      icon={isCopied ? "check" : "copy"}
      label={isCopied ? "Copied" : label}
      size={16}
      title={label}
      onClick={() => void copy()}
    />
  );
}

/** Copies a number as it is stored, if it alone is selected: it may be shown with fewer digits. */
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
