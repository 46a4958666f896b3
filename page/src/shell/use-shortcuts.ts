import { useEffect, useState } from "react";
import { focusComposer, isTyping } from "./shortcuts.ts";

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
  return { isOpen, open: () => setOpen(true), close: () => setOpen(false) };
}
