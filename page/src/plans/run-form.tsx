import { type FormEvent, useState } from "react";
import type { Json } from "../../../src/value/json.ts";

export interface RunRequest {
  readonly input: Json;
  readonly keep: boolean;
}

interface RunFormProps {
  /** JSON template of the input. */
  readonly template: string;
  readonly onRun: (request: RunRequest) => void;
  readonly onCancel: () => void;
}

/** Form for a run's input. */
export function RunForm({ template, onRun, onCancel }: RunFormProps) {
  const [text, setText] = useState(template);
  const [keep, setKeep] = useState(true);
  const parsed = parse(text);
  const run = (event: FormEvent) => {
    event.preventDefault();
    if ("input" in parsed) onRun({ input: parsed.input, keep });
  };
  return (
    <form className="plans-form" onSubmit={run}>
      <label htmlFor="plans-input">Input of this run, as JSON</label>
      <textarea
        id="plans-input"
        autoFocus
        rows={Math.min(12, text.split("\n").length + 1)}
        spellCheck={false}
        aria-invalid={"fault" in parsed}
        aria-describedby="plans-fault"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <p id="plans-fault" className="plans-fault" aria-live="polite">
        {"fault" in parsed ? parsed.fault : ""}
      </p>
      <label className="plans-keep">
        <input type="checkbox" checked={keep} onChange={({ target }) => setKeep(target.checked)} />
        Save its result in $state
      </label>
      <div className="variables-buttons">
        <button type="submit" className="button button-main" disabled={"fault" in parsed}>
          Run
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function parse(text: string): { readonly input: Json } | { readonly fault: string } {
  try {
    return { input: text.trim() === "" ? {} : (JSON.parse(text) as Json) };
  } catch (error) {
    return { fault: `Not JSON yet: ${error instanceof Error ? error.message : String(error)}` };
  }
}
