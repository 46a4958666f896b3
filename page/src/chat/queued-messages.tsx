import { Icon } from "../icon.tsx";
import type { Queue } from "./use-queue.ts";
import "./queued-messages.css";

interface QueuedMessagesProps extends Pick<Queue, "queued" | "remove" | "sendNow"> {
  readonly canSend: boolean;
}

/** Messages to send when the answer ends. */
export function QueuedMessages({ queued, remove, sendNow, canSend }: QueuedMessagesProps) {
  return (
    <ul className="queued" aria-label="Queued messages" aria-live="polite">
      {queued.map((message) => (
        <li key={message.id} className="queued-one">
          <span className="queued-word">Queued</span>
          <span className="queued-text">{message.text}</span>
          {canSend && (
            <button type="button" className="link-button" onClick={() => sendNow(message)}>
              Send now
            </button>
          )}
          <button
            type="button"
            className="icon-button queued-remove"
            aria-label={`Remove “${message.text.slice(0, 40)}” from the queue`}
            onClick={() => remove(message.id)}
          >
            <Icon name="close" size={14} />
          </button>
        </li>
      ))}
    </ul>
  );
}
