/** The page of the agent, with the stock hooks. Wrangler bundles it, as `wrangler.toml` says. */
import { useAgentChat } from "@cloudflare/ai-chat/react";
import { useAgent } from "agents/react";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { Suspense } from "react";
import { createRoot } from "react-dom/client";

type Part = UIMessage["parts"][number];

function Chat() {
  const agent = useAgent({ agent: "Chat", name: location.hash.slice(1) || "first" });
  const { messages, sendMessage, addToolApprovalResponse } = useAgentChat({ agent });
  const show = (part: Part, index: number) => {
    if (part.type === "text") return <p key={index}>{part.text}</p>;
    if (!isToolUIPart(part)) return null;
    const { input, output, state } = part;
    const decide = (approved: boolean) => () =>
      part.approval && addToolApprovalResponse({ id: part.approval.id, approved });
    return (
      <section key={index} aria-label={getToolName(part)}>
        <code>{JSON.stringify({ state, input, output })}</code>
        {state === "approval-requested" && (
          <p>
            {part.approval.requestReason}
            <button onClick={decide(true)}>Approve</button>
            <button onClick={decide(false)}>Deny</button>
          </p>
        )}
      </section>
    );
  };
  return (
    <>
      {messages.map(({ id, role, parts }) => (
        <article key={id} aria-label={role}>
          {parts.map(show)}
        </article>
      ))}
      <form action={(form) => void sendMessage({ text: String(form.get("text")) })}>
        <input name="text" aria-label="Message" />
      </form>
    </>
  );
}

createRoot(document.body).render(
  <Suspense>
    <Chat />
  </Suspense>,
);
