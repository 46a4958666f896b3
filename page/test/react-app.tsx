import { useChat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "../../packages/client/src/client.ts";
import {
  byrefTransport,
  useEvents,
  useVariable,
  useVariables,
} from "../../packages/client/src/react.ts";

/** An application that uses `byref/react` as in its guide. `test/browser/react.test.ts` uses it. */

const query = new URLSearchParams(location.search);
const id = query.get("id") ?? "";
const client = createClient("");
const transport = byrefTransport("", { agent: "weather" });

function App({ before }: { readonly before: readonly UIMessage[] }) {
  const [text, setText] = useState("");
  const stored = { id, transport, messages: [...before], resume: true };
  const { messages, sendMessage, status, stop } = useChat(stored);
  const conversation = client.conversation(id);
  const [name, path] = [query.get("name") ?? "rows", query.get("path") ?? ""];
  const { value, info, status: state, error } = useVariable(conversation, name, path);
  const variables = useVariables(conversation);
  const { events } = useEvents(conversation);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void sendMessage({ text });
      }}
    >
      <input aria-label="Message" value={text} onChange={({ target }) => setText(target.value)} />
      <output aria-label="Status">{status}</output>
      <button type="button" onClick={() => void stop()}>
        Stop
      </button>
      <output aria-label="Answers">{messages.map(textOf).join(" | ")}</output>
      <output aria-label="First">
        {JSON.stringify(value)} v{info?.version} {state} {error?.code}
      </output>
      <output aria-label="Variables">
        {variables.map(({ name, version }) => `${name} v${version}`).join(", ")}
      </output>
      <output aria-label="Events">{events.map(({ type }) => type).join(", ")}</output>
    </form>
  );
}

function textOf({ role, parts }: UIMessage): string {
  return `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`;
}

const root = document.createElement("div");
document.body.append(root);
void client
  .conversation(id)
  .messages()
  .catch(() => ({ messages: [] }))
  .then(({ messages: before }) => {
    const app = <App before={before} />;
    createRoot(root).render(<StrictMode>{app}</StrictMode>);
  });
