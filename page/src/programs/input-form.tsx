import { type ReactNode, useId, useRef } from "react";
import { FileButton, Form, Problem, SubmitButtons } from "../controls.tsx";
import { useAttempt } from "../hooks.ts";
import { delimiterIn, kindOfText, uploadOf } from "../variables/uploads.tsx";
import { CsvColumns, splitRows } from "../../../src/value/csv-columns.ts";
import type { Json } from "../../../src/value/json.ts";
import { isRecord } from "../variables/records.ts";
import { plural } from "../words.ts";

interface InputFormProps {
  readonly fields: readonly InputField[];
  readonly isBusy?: boolean;
  /** `input`: JSON. */
  readonly onRun: (input: string, given: FormData) => void;
  readonly onCancel?: () => void;
  /** Other fields. */
  readonly children?: ReactNode;
}

export function InputForm({ fields, isBusy = false, onRun, onCancel, children }: InputFormProps) {
  const [problem, attempt] = useAttempt();
  const submit = (given: FormData) =>
    void attempt(async () => onRun(inputFrom(fields, given), given));
  return (
    <Form className="plans-form" onSubmit={submit}>
      {fields.map((field) => (
        <Field key={field.key ?? ""} field={field} />
      ))}
      {children}
      <Problem error={problem} />
      <SubmitButtons word={isBusy ? "Running…" : "Run"} isOff={isBusy} onCancel={onCancel} />
    </Form>
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
            className="link-button"
            label={`File for ${key}`}
            onFiles={([file]) => void attempt(async () => file && read(file))}
          >
            Choose a file
          </FileButton>
          <Problem error={problem} />
        </>
      )}
    </div>
  );
}

/** A field of the form for a run's input. */
export interface InputField {
  /** Undefined for the whole input. */
  readonly key?: string;
  readonly kind: "text" | "number" | "choice" | "json";
  readonly about?: string;
  readonly isRequired?: boolean;
  /** What is in the field at first. */
  readonly text: string;
  /** With this text the property is left out; the server has its default exactly. */
  readonly omitted?: string | undefined;
  readonly hint?: string;
  /** As JSON. */
  readonly choices?: readonly string[];
}

/** With more, one field has the input as JSON. */
const MOST_FIELDS = 40;
/** A longer default is counted, not shown. */
const MAX_SHOWN_CHARS = 160;

/** Returns the fields for a JSON Schema, whose numbers of many digits may be texts (see `jsonIn`). */
export function fieldsOf(schema: Json | undefined, last?: Json): readonly InputField[] {
  if (schema === undefined) return [];
  const { properties, required } = { ...(schema as { properties?: Json; required?: Json }) };
  const entries = Object.entries(isRecord(properties) ? properties : {});
  if (entries.length === 0 || entries.length > MOST_FIELDS) {
    return [{ kind: "json", text: JSON.stringify(last ?? {}) }];
  }
  return entries.map(([key, one]) => {
    const isNeeded = Array.isArray(required) && required.includes(key);
    const given = isRecord(last) && Object.hasOwn(last, key) ? last[key] : undefined;
    return { key, ...fieldOf(isRecord(one) ? one : {}, isNeeded, given) };
  });
}

function fieldOf(
  schema: Readonly<Record<string, Json>>,
  isNeeded: boolean,
  given?: Json,
): InputField {
  const { type, title, description, default: value } = schema;
  const listed = type === "boolean" ? [true, false] : schema["enum"];
  const isNumber = type === "number" || type === "integer";
  const other = isNumber ? "number" : type === "string" ? "text" : "json";
  const kind = Array.isArray(listed) ? "choice" : other;
  const textOf = (one: Json) =>
    typeof one === "string" && (isNumber || kind === "text")
      ? one.replaceAll(/\r\n?/g, "\n")
      : JSON.stringify(one);
  const whole = value === undefined ? "" : textOf(value);
  // In JSON, numbers of many digits have become texts.
  const isShown = kind !== "json" || (whole.length <= MAX_SHOWN_CHARS && !/\d{16}/.test(whole));
  const text = isShown ? whole : "";
  const size = Array.isArray(value) ? plural(value.length, "element") : "as it was";
  const format = type === "array" ? "A table (CSV) or JSON" : "JSON";
  return {
    kind,
    about: [title, description].filter((one) => typeof one === "string").join(": "),
    isRequired: isNeeded && value === undefined && kind !== "text",
    text: given === undefined ? text : textOf(given),
    omitted: isNeeded && value === undefined ? undefined : text,
    ...(kind === "json" && { hint: isShown ? format : `Default: ${size}. ${format}` }),
    ...(Array.isArray(listed) && { choices: listed.map(textOf) }),
  };
}

/** Returns the input as JSON, with all digits as they are typed. Throws an error for the person. */
function inputFrom(fields: readonly InputField[], given: FormData): string {
  const parts = fields.flatMap((field) => {
    const { key = "", omitted } = field;
    const text = String(given.get(`input ${key}`));
    return text === omitted ? [] : [[field.key, jsonFor(field, text)] as const];
  });
  const [[key, json] = []] = parts;
  if (json !== undefined && key === undefined) return json;
  return `{${parts.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(",")}}`;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function jsonFor({ key = "The input", kind }: InputField, text: string): string {
  if (kind === "text") return JSON.stringify(text);
  const written = text.trim();
  if (kind === "number" && !NUMBER.test(written)) {
    throw new Error(`${key} must be a number, such as 12.5.`);
  }
  if (kind !== "json") return written;
  try {
    return recordsIn(written) ?? checked(written);
  } catch {
    throw new Error(`${key} is neither JSON nor a table (CSV whose first line has the names).`);
  }
}

function checked(json: string): string {
  JSON.parse(json);
  return json;
}

/** Returns the records of a CSV or of lines of JSON. Undefined for other texts. */
function recordsIn(text: string): string | undefined {
  const kind = kindOfText(text);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (kind === "records") return `[${lines.map(checked).join(",")}]`;
  if (kind !== "csv") return undefined;
  const split = splitRows(text, (delimiterIn(lines) ?? ",").charCodeAt(0));
  const [names = [], ...rows] = split.rows;
  const columns = new CsvColumns(names);
  const isBroken = split.fault !== undefined || rows.some((row) => row.length > names.length);
  if (isBroken) throw new Error("It is no CSV.");
  columns.learn(rows);
  return `[${columns.records(rows).join(",")}]`;
}
