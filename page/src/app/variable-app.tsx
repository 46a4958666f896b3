import {
  type App,
  useApp,
  useDocumentTheme,
  useHostStyles,
} from "@modelcontextprotocol/ext-apps/react";
import { useEffect, useState } from "react";
import { useAttempt } from "../hooks.ts";
import { problemWords } from "../words.ts";
import { readVariable, type ReadValue, type Shown, shownBy } from "./read-variable.ts";
import { ShownValue } from "./shown-value.tsx";

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
