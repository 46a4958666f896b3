import { type FormEvent, type ReactNode, useId, useRef } from "react";
import { Button, FileButton, SubmitButtons } from "../controls.tsx";
import { useAttempt } from "../hooks.ts";
import { Problem } from "../variables/problem.tsx";
import { uploadOf } from "../variables/upload.ts";
import { type InputField, inputFrom } from "./input-fields.ts";

interface InputFormProps {
  readonly fields: readonly InputField[];
  readonly isBusy?: boolean;
  /** `input`: JSON. */
  readonly onRun: (input: string, given: FormData) => void;
  readonly onCancel?: () => void;
  /** Other fields. */
  readonly children?: ReactNode;
}

/** Form for a run's input. */
export function InputForm({ fields, isBusy = false, onRun, onCancel, children }: InputFormProps) {
  const [problem, attempt] = useAttempt();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    void attempt(async () => onRun(inputFrom(fields, given), given));
  };
  return (
    <form className="plans-form" onSubmit={submit}>
      {fields.map((field) => (
        <Field key={field.key ?? ""} field={field} />
      ))}
      {children}
      <Problem error={problem} />
      <SubmitButtons word={isBusy ? "Running…" : "Run"} isOff={isBusy} onCancel={onCancel} />
    </form>
  );
}

/** A file can fill a text or JSON. */
function Field({ field }: { readonly field: InputField }) {
  const { key = "", kind, about, isRequired, text, hint, choices = [] } = field;
  const own = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const named = { id, name: `input ${key}`, className: "field" };
  const attributes = { ...named, defaultValue: text, required: isRequired };
  const [problem, attempt] = useAttempt();
  const read = async (file: File) => {
    const { body } = await uploadOf(file);
    if (own.current !== null) own.current.value = await body.text();
  };
  return (
    <div className="program-field">
      <label htmlFor={id}>{field.key === undefined ? "Input of this run, as JSON" : key}</label>
      {about !== "" && <p className="plans-quiet">{about}</p>}
      {kind === "choice" && (
        <select {...attributes}>
          {text === "" && <option value="" />}
          {choices.map((one) => (
            <option key={one} value={one}>
              {one.startsWith('"') ? String(JSON.parse(one)) : one}
            </option>
          ))}
        </select>
      )}
      {kind === "number" && <input {...attributes} inputMode="decimal" autoComplete="off" />}
      {(kind === "text" || kind === "json") && (
        <>
          <textarea {...attributes} ref={own} rows={1} placeholder={hint} spellCheck={false} />
          <FileButton
            label={`File for ${key}`}
            onFiles={([file]) => void attempt(async () => file && read(file))}
            button={(open) => (
              <Button className="link-button" onClick={open}>
                Choose a file
              </Button>
            )}
          />
          <Problem error={problem} />
        </>
      )}
    </div>
  );
}
