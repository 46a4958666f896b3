import { focusComposer } from "./shortcuts.ts";
import "./skip-link.css";

/**
 * The first Tab stop: skips the list of conversations. A button, because the page's URL fragment names the
 * conversation.
 */
export function SkipLink() {
  return (
    <button type="button" className="skip-link" onClick={focusComposer}>
      Skip to the message field
    </button>
  );
}
