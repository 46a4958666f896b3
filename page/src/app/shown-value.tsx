import { useState } from "react";
import type { Json } from "../../../src/value/json.ts";
import { Code } from "../controls.tsx";
import { JsonTree } from "../variables/json-tree.tsx";
import { heldRecords, RecordForms } from "../variables/record-forms.tsx";
import { isShownImage } from "../variables/words.ts";
import { bytesInWords, figure } from "../words.ts";
import type { ReadValue } from "./read-variable.ts";

interface ShownValueProps {
  readonly value: ReadValue;
  readonly name: string;
}

/** Shows a value in the view that suits its type. */
export function ShownValue({ value: read, name }: ShownValueProps) {
  if (read.kind === "bytes") {
    const { mediaType, base64 } = read;
    if (isShownImage(mediaType)) {
      const source = `data:${mediaType};base64,${base64}`;
      return <img className="variables-image" src={source} alt={`$${name}`} />;
    }
    const bytes = bytesInWords(Math.floor((base64.length * 3) / 4));
    return (
      <p className="variables-empty">
        {bytes} of {mediaType}.
      </p>
    );
  }
  const part = (count: number, what: string) =>
    read.isPart && (
      <p className="variables-hint">
        The first {figure(count)} {what}.
      </p>
    );
  if (read.kind === "text") {
    return (
      <>
        <Code className="variables-text" label={`The text of $${name}`}>
          {read.text}
        </Code>
        {part(read.text.length, "characters")}
      </>
    );
  }
  const tree = <JsonTree value={read.value} root={`$${name}`} />;
  if (!Array.isArray(read.value) || read.value.length === 0) return tree;
  return (
    <>
      <div className="variables-value">
        <Elements values={read.value} {...{ name, tree }} />
      </div>
      {part(read.value.length, "elements")}
    </>
  );
}

interface ElementsProps extends Pick<ShownValueProps, "name"> {
  readonly values: readonly Json[];
  readonly tree: React.ReactNode;
}

function Elements({ values, ...rest }: ElementsProps) {
  const [records] = useState(() => heldRecords(values));
  return <RecordForms records={records} {...rest} />;
}
