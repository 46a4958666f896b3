import type { ModelDescription } from "../../../src/edge/page-options.ts";
import "./model-note.css";

interface ModelNoteProps {
  readonly model: ModelDescription | undefined;
}

/** Says which model answers. */
export function ModelNote({ model }: ModelNoteProps) {
  if (model === undefined) return null;
  const isDemo = model.provider === "byref" && model.id === "demo";
  return (
    <p className="model-note">
      {isDemo ? (
        <>
          The demo model answers: rules, not a language model. <code>MODEL</code> names a real one.
        </>
      ) : (
        `${model.id} answers.`
      )}
    </p>
  );
}
