import { focusComposer } from "./shortcuts.ts";
import "./skip-link.css";

/** The first Tab stop: goes past the list of conversations. Not an address: those name conversations. */
export function SkipLink() {
  return (
    <button type="button" className="skip-link" onClick={focusComposer}>
      Skip to the message field
    </button>
  );
}
