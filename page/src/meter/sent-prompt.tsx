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
  const messageChars = messages.reduce((sum, { chars }) => sum + chars, 0);
  return (
    <>
      <table className="meter-parts">
        <caption>Characters in the next call of {agent}</caption>
        <tbody>
          <Row name="Instructions" chars={instructions.chars} />
          <Row name="Tools" chars={toolChars} />
          {tools.map(({ name, chars, sent }) => (
            <Row key={name} name={name} chars={chars} isLater={!sent} isPart />
          ))}
          <Row name="Messages" chars={messageChars} />
          {guide !== undefined && (
            <Row name="Guide to references" chars={guide.chars} isLater={!guide.sent} isPart />
          )}
          <Row name="Total" chars={sentChars} />
          <Row name="Sent later, when needed" chars={laterChars} />
        </tbody>
      </table>
      <pre className="meter-text" aria-label="Instructions">
        {instructions.text}
      </pre>
      {tail !== undefined && (
        <pre className="meter-text" aria-label="Last message">
          {tail.text}
        </pre>
      )}
    </>
  );
}

interface RowProps {
  readonly name: string;
  readonly chars: number;
  readonly isLater?: boolean;
  readonly isPart?: boolean;
}

function Row({ name, chars, isLater = false, isPart = false }: RowProps) {
  return (
    <tr className={isPart ? "meter-part" : undefined}>
      <th scope="row">{isLater ? `${name}, later` : name}</th>
      <td>{figure(chars)}</td>
    </tr>
  );
}
