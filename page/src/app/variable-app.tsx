import {
  type App,
  useApp,
  useDocumentTheme,
  useHostStyles,
} from "@modelcontextprotocol/ext-apps/react";
import { useEffect, useState } from "react";
import { useAttempt } from "../hooks.ts";
import { problemWords, bytesInWords, figure } from "../words.ts";
import { readVariable, type ReadValue, type Shown, shownBy } from "./read-variable.ts";
import type { Json } from "../../../src/value/json.ts";
import { Code } from "../controls.tsx";
import { JsonTree } from "../variables/json-tree.tsx";
import { heldRecords, RecordForms } from "../variables/record-forms.tsx";
import { isShownImage } from "../variables/words.ts";

/** Shows the variable of a `show_variable` call. Reads it through the client, not through the model. */
export function VariableApp() {
  const [shown, setShown] = useState<Shown>();
  const { app, error } = useApp({
    appInfo: { name: "byref", version: "1" },
    capabilities: {},
    onAppCreated: (created) => {
      created.ontoolinput = ({ arguments: input }) => setShown(shownBy(input));
    },
  });
  useHostStyles(app, app?.getHostContext());
  useDocumentTheme();
  if (error !== null) return <Note text={`The client is not connected: ${error.message}`} />;
  if (app === null || shown === undefined) return <Note text="Waiting for the variable…" />;
  return <ReadVariable key={JSON.stringify(shown)} app={app} shown={shown} />;
}

function ReadVariable({ app, shown }: { readonly app: App; readonly shown: Shown }) {
  const [value, setValue] = useState<ReadValue>();
  const [problem, attempt] = useAttempt();
  useEffect(() => {
    const read = (uri: string) => app.readServerResource({ uri });
    void attempt(async () => setValue(await readVariable(read, shown)));
  }, [app, shown, attempt]);
  if (problem !== undefined) return <Note text={problemWords(problem)} />;
  if (value === undefined) return <Note text={`Reading $${shown.name}…`} />;
  return (
    <main className="app">
      <h1 className="app-name">${[shown.name, shown.path].filter(Boolean).join(" ")}</h1>
      <ShownValue value={value} name={shown.name} />
    </main>
  );
}

function Note({ text }: { readonly text: string }) {
  return (
    <main className="app" role="status">
      {text}
    </main>
  );
}

interface ShownValueProps {
  readonly value: ReadValue;
  readonly name: string;
}

/** Shows a value in the view that suits its type. */
function ShownValue({ value: read, name }: ShownValueProps) {
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
