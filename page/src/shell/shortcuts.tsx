import { useEffect, useState } from "react";
import { Button, Dialog } from "../controls.tsx";
import "./shortcuts-dialog.css";
import "./skip-link.css";

/** Keyboard shortcuts and their descriptions, in the order of the dialog. */
const SHORTCUTS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [["/"], "Go to the message field"],
  [["?"], "Show these shortcuts"],
  [["Enter"], "Send the message, or queue it during an answer"],
  [["Shift", "Enter"], "Begin a new line"],
  [["↑", "↓"], "Go through conversations, variables and menus"],
  [["→"], "Options of a conversation in the list"],
  [["Escape"], "Close what is open, or cancel an edit"],
];

/** Focuses the message field. Does nothing while the field is hidden, as in other views on a phone. */
function focusComposer(): void {
  document.querySelector<HTMLElement>(".composer-field")?.focus();
}

/** True for keys that are typed into a field, or belong to an open dialog. */
function isTyping({ target }: KeyboardEvent): boolean {
  if (document.querySelector("dialog[open]") !== null) return true;
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}

/** Handles the global keyboard shortcuts. Returns whether the list of shortcuts is open. */
export function useShortcuts() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (event.key !== "/" && event.key !== "?") return;
      event.preventDefault();
      if (event.key === "/") focusComposer();
      else setOpen(true);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  return [isOpen, setOpen] as const;
}

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {(close) => (
        <>
          <dl className="shortcuts">
            {SHORTCUTS.map(([keys, does]) => (
              <div key={does}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <div className="confirm-buttons">
            <Button onClick={close}>Close</Button>
          </div>
        </>
      )}
    </Dialog>
  );
}

/**
 * The first Tab stop: skips the list of conversations. A button, because the page's URL fragment names the
 * conversation.
 */
export function SkipLink() {
  return (
    <Button className="skip-link" onClick={focusComposer}>
      Skip to the message field
    </Button>
  );
}
