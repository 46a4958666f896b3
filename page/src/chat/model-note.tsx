import type { ModelDescription } from "../../../src/edge/page-options.ts";
import "./model-note.css";

interface ModelNoteProps {
  readonly model: ModelDescription | undefined;
}

/** Notes that no language model answers, if that is so. */
export function ModelNote({ model }: ModelNoteProps) {
  if (model?.provider !== "byref" || model.id !== "demo") return null;
  return (
    <p className="model-note">
      The demo model answers: rules, not a language model. <code>MODEL</code> names a real one.
    </p>
  );
}
