import { useState } from "react";
import RecordsChart from "../chart/records-chart.tsx";
import { Segments } from "../segments.tsx";
import { heldRecords } from "../variables/held-records.ts";
import { JsonTree } from "../variables/json-tree.tsx";
import { RecordTable } from "../variables/record-table.tsx";
import { isRecord } from "../variables/records.ts";
import { isShownImage } from "../variables/value-path.ts";
import { bytesInWords, figure } from "../words.ts";
import type { Json } from "../../../src/value/json.ts";
import type { ReadValue } from "./read-variable.ts";

interface ShownValueProps {
  readonly value: ReadValue;
  readonly name: string;
}

/** Shows a value in the view that suits its type. */
export function ShownValue({ value, name }: ShownValueProps) {
  if (value.kind === "bytes") return <Bytes {...value} name={name} />;
  if (value.kind === "text") {
    return (
      <>
        <pre
          className="variables-text"
          role="group"
          tabIndex={0}
          aria-label={`The text of $${name}`}
        >
          {value.text}
        </pre>
        {value.isPart ? <Part what={`${figure(value.text.length)} characters`} /> : null}
      </>
    );
  }
  if (Array.isArray(value.value) && value.value.length > 0) {
    return (
      <>
        <Elements values={value.value} name={name} />
        {value.isPart ? <Part what={`${figure(value.value.length)} elements`} /> : null}
      </>
    );
  }
  return <JsonTree value={value.value} root={`$${name}`} />;
}

function Part({ what }: { readonly what: string }) {
  return <p className="variables-hint">The first {what}.</p>;
}

function Bytes({
  mediaType,
  base64,
  name,
}: Extract<ReadValue, { kind: "bytes" }> & { name: string }) {
  if (isShownImage(mediaType)) {
    const source = `data:${mediaType};base64,${base64}`;
    return <img className="variables-image" src={source} alt={`$${name}`} />;
  }
  const bytes = Math.floor((base64.length * 3) / 4);
  return (
    <p className="variables-empty">
      {bytesInWords(bytes)} of {mediaType}.
    </p>
  );
}

type Form = "Table" | "Chart" | "Tree";

function Elements({ values, name }: { readonly values: readonly Json[]; readonly name: string }) {
  const [records] = useState(() => heldRecords(values));
  const [chosen, setChosen] = useState<Form>();
  const hasNumbers = records.columns.some(({ isNumeric }) => isNumeric);
  const forms: readonly Form[] =
    hasNumbers && values.length > 1 ? ["Table", "Chart", "Tree"] : ["Table", "Tree"];
  const form = chosen ?? (hasNumbers || values.every(isRecord) ? "Table" : "Tree");
  return (
    <div className="variables-value">
      <Segments label="Shown as" values={forms} value={form} onChoose={setChosen} />
      {form === "Table" ? <RecordTable records={records} name={name} /> : null}
      {form === "Chart" ? <RecordsChart records={records} name={name} /> : null}
      {form === "Tree" ? <JsonTree value={[...values]} root={`$${name}`} /> : null}
    </div>
  );
}
