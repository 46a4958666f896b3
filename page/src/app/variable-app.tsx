import {
  type App,
  useApp,
  useDocumentTheme,
  useHostStyles,
} from "@modelcontextprotocol/ext-apps/react";
import { useEffect, useMemo, useState } from "react";
import type { ReadResourceResult } from "@modelcontextprotocol/client";
import { parseJson } from "../../../packages/client/src/client/connection.ts";
import { useAttempt } from "../hooks.ts";
import { bytesInWords, figure, isShownImage, problemWords } from "../words.ts";
import type { Json } from "../../../src/value/json.ts";
import { Code } from "../controls.tsx";
import { JsonTree } from "../variables/json-tree.tsx";
import { heldRecords, RecordForms } from "../variables/record-table.tsx";

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
  const values: Json = read.kind === "json" ? read.value : null;
  const records = useMemo(() => Array.isArray(values) && heldRecords(values), [values]);
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
  if (records === false || records.count === 0) return tree;
  return (
    <>
      <div className="variables-value">
        <RecordForms {...{ records, name, tree }} />
      </div>
      {part(records.count, "elements")}
    </>
  );
}

/** The variable that the model asked to show. */
export interface Shown {
  readonly name: string;
  readonly path?: string;
}

type ReadValue =
  | { readonly kind: "json"; readonly value: Json; readonly isPart: boolean }
  | { readonly kind: "text"; readonly text: string; readonly isPart: boolean }
  | { readonly kind: "bytes"; readonly mediaType: string; readonly base64: string };

type ReadResource = (uri: string) => Promise<ReadResourceResult>;

/** Characters per request. The gateway sends at most 1,048,576. */
const PART_CHARS = 1_000_000;
/** Maximum characters of a value that a view loads. */
const MAX_CHARS = 16_000_000;
/** Number of elements shown of a larger array. */
const MAX_ELEMENTS = 1_000;

/** Returns undefined for an input without a variable. */
function shownBy(input: Readonly<Record<string, unknown>> = {}): Shown | undefined {
  const { name, path } = input;
  if (typeof name !== "string") return undefined;
  const bare = name.replace(/^\$/, "");
  return typeof path === "string" ? { name: bare, path } : { name: bare };
}

/** Reads the value in parts. Returns the beginning of a value that is too large. */
async function readVariable(read: ReadResource, shown: Shown): Promise<ReadValue> {
  const whole = await readText(read, shown);
  if (whole.base64 !== undefined) return { kind: "bytes", ...whole };
  const { text, isJson, isPart } = whole;
  if (!isJson) return { kind: "text", text, isPart };
  if (!isPart) return { kind: "json", value: parseJson(text) as Json, isPart };
  const { name, path = "" } = shown;
  const first = await readText(read, { name, path: `${path}[0:${MAX_ELEMENTS}]` });
  if (first.base64 !== undefined || first.isPart)
    throw new Error(`$${name} is too large to be shown.`);
  return { kind: "json", value: parseJson(first.text) as Json, isPart };
}

async function readText(read: ReadResource, { name, path }: Shown) {
  let text = "";
  for (;;) {
    const query = new URLSearchParams({
      ...(path !== undefined && { path }),
      offset: String(text.length),
      limit: String(PART_CHARS),
    });
    const uri = `byref://variables/${encodeURIComponent(name)}?${query.toString()}`;
    const [content] = (await read(uri)).contents;
    if (content === undefined) throw new Error(`$${name} could not be read.`);
    const { mimeType = "" } = content;
    if ("blob" in content) return { mediaType: mimeType, base64: content.blob };
    text += content.text;
    const isJson = mimeType === "application/json";
    if (content.text.length < PART_CHARS) return { text, isJson, isPart: false };
    if (text.length >= MAX_CHARS) return { text, isJson, isPart: true };
  }
}
