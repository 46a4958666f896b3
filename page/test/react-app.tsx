import { useChat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { StrictMode, useEffect, useState } from "react";
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

function Chat({ messages: before }: { readonly messages: readonly UIMessage[] }) {
  const { messages, sendMessage, status, stop } = useChat({
    id,
    transport,
    messages: [...before],
    resume: true,
  });
  const [text, setText] = useState("");
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
    </form>
  );
}

function textOf({ role, parts }: UIMessage): string {
  return `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`;
}

function Variable() {
  const name = query.get("name") ?? "rows";
  const part = useVariable(client.conversation(id), name, query.get("path") ?? "");
  const { value, info, status, error } = part;
  return (
    <output aria-label="First">
      {JSON.stringify(value)} v{info?.version} {status} {error?.code}
    </output>
  );
}

function Lists() {
  const conversation = client.conversation(id);
  const variables = useVariables(conversation);
  const { events } = useEvents(conversation);
  return (
    <>
      <output aria-label="Variables">
        {variables.map(({ name, version }) => `${name} v${version}`).join(", ")}
      </output>
      <output aria-label="Events">{events.map(({ type }) => type).join(", ")}</output>
    </>
  );
}

function App() {
  const [messages, setMessages] = useState<readonly UIMessage[]>();
  useEffect(() => {
    client
      .conversation(id)
      .messages()
      .then((page) => setMessages(page.messages))
      .catch(() => setMessages([]));
  }, []);
  return (
    <>
      {messages !== undefined && <Chat messages={messages} />}
      <Variable />
      <Lists />
    </>
  );
}

const root = document.createElement("div");
document.body.append(root);
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
