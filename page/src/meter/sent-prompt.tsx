import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useConversation } from "../conversation-context.ts";
import { figure, problemWords } from "../words.ts";

interface SentPromptProps {
  readonly agent: string;
  /** True if the server knows the conversation. */
  readonly exists: boolean;
}

/** Shows the prompt of the next model call. Loads it when opened. */
export function SentPrompt(props: SentPromptProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="meter-prompt" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What the model is sent</summary>
      {isOpen && <Loaded {...props} />}
    </details>
  );
}

function Loaded({ agent, exists }: SentPromptProps) {
  const { session } = useConversation();
  const conversation = exists ? session.conversation.id : undefined;
  const { data, error } = useQuery({
    queryKey: ["prompt", conversation, agent],
    queryFn: () => session.client.prompt(agent, { conversation }),
  });
  if (data === undefined) {
    return <p className="meter-note">{error === null ? "Loading…" : problemWords(error)}</p>;
  }
  const { instructions, tools, toolChars, guide, tail, messages, sentChars, laterChars } = data;
  const later = (name: string, isSent: boolean) => (isSent ? name : `${name}, later`);
  const rows: readonly (readonly [name: string, chars: number, isPart?: boolean])[] = [
    ["Instructions", instructions.chars],
    ["Tools", toolChars],
    ...tools.map(({ name, chars, sent }) => [later(name, sent), chars, true] as const),
    ["Messages", messages.reduce((sum, { chars }) => sum + chars, 0)],
    ...(guide ? [[later("Guide to references", guide.sent), guide.chars, true] as const] : []),
    ["Total", sentChars],
    ["Sent later, when needed", laterChars],
  ];
  return (
    <>
      <table className="meter-parts">
        <caption>Characters in the next call of {agent}</caption>
        <tbody>
          {rows.map(([name, chars, isPart = false]) => (
            <tr key={name} className={isPart ? "meter-part" : undefined}>
              <th scope="row">{name}</th>
              <td>{figure(chars)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <pre className="meter-text" aria-label="Instructions">
        {instructions.text}
      </pre>
      {tail && (
        <pre className="meter-text" aria-label="Last message">
          {tail.text}
        </pre>
      )}
    </>
  );
}
