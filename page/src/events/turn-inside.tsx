import type { UIMessage } from "ai";
import { type ReactNode, useId } from "react";
import { useConversation } from "../conversation-context.ts";
import { textsOf } from "../chat/use-written.ts";
import { Waterfall } from "./waterfall.tsx";

interface TurnInsideProps {
  readonly messages: readonly UIMessage[];
  /** Id of the selected answer. Default: the newest one. */
  readonly turn: string | undefined;
  readonly setTurn: (messageId: string) => void;
  readonly isBusy: boolean;
  /** The prompt of the next model call. */
  readonly prompt: ReactNode;
}

const MAX_QUESTION_CHARS = 60;

/** Shows the waterfall of a turn, and the prompt of the next model call. */
export function TurnInside(props: TurnInsideProps): ReactNode {
  const { messages, turn, setTurn, isBusy, prompt } = props;
  const { session } = useConversation();
  const choice = useId();
  // A running turn has no stored times yet.
  const whole = isBusy ? messages.slice(0, -1) : messages;
  const turns = whole.flatMap(({ id, role }, index) =>
    role === "assistant" ? [{ id, question: questionOf(whole[index - 1]) }] : [],
  );
  const shown = turns.find(({ id }) => id === turn) ?? turns.at(-1);
  if (shown === undefined) return null;
  return (
    <section aria-label="Inside a turn">
      <p className="turn-choice">
        <label htmlFor={choice}>Turn</label>
        <select
          id={choice}
          className="field"
          value={shown.id}
          onChange={({ target }) => setTurn(target.value)}
        >
          {turns.map(({ id, question }, index) => (
            <option key={id} value={id}>
              {index + 1}. {question}
            </option>
          ))}
        </select>
      </p>
      <Waterfall key={shown.id} session={session} turn={shown.id} />
      {prompt}
    </section>
  );
}

function questionOf(message: UIMessage | undefined): string {
  const text = textsOf(message?.parts ?? []).join(" ");
  return text.length > MAX_QUESTION_CHARS ? `${text.slice(0, MAX_QUESTION_CHARS)}…` : text;
}
