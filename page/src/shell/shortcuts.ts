/** Keyboard shortcuts and their descriptions, in the order of the dialog. */
export const SHORTCUTS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [["/"], "Go to the message field"],
  [["?"], "Show these shortcuts"],
  [["Enter"], "Send the message, or queue it during an answer"],
  [["Shift", "Enter"], "Begin a new line"],
  [["↑", "↓"], "Go through conversations, variables and menus"],
  [["→"], "Options of a conversation in the list"],
  [["Alt", "←", "→"], "Change the width of a table's column, on its header"],
  [["Escape"], "Close what is open, or cancel an edit"],
];

/** Focuses the message field. Does nothing while the field is hidden, as in other views on a phone. */
export function focusComposer(): void {
  document.querySelector<HTMLElement>(".composer-field")?.focus();
}

/** True for keys that are typed into a field, or belong to an open dialog. */
export function isTyping({ target }: KeyboardEvent): boolean {
  if (document.querySelector("dialog[open]") !== null) return true;
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}
