import { whenInWords } from "../words.ts";
import { Icon } from "../icon.tsx";
import { WaitingCount } from "../chat/waiting-count.tsx";
import { addressOf } from "./use-route.ts";
import type { Listed } from "./api.ts";
import type { ConversationsList } from "./use-list.ts";
import "./conversations.css";

interface ConversationsProps {
  readonly list: ConversationsList;
  readonly current: string;
  readonly onNew: () => void;
  readonly onImport: (file: File) => void;
  /** Somebody has chosen one. */
  readonly onLeave: () => void;
}

const words = { idle: "", running: "answering", waiting: "Needs your approval" } as const;

/** The conversations of whoever holds the key. */
export function Conversations({ list, current, onNew, onImport, onLeave }: ConversationsProps) {
  return (
    <div className="conversations">
      <div className="conversations-head">
        <span className="conversations-brand">Byref</span>
        <WaitingCount
          count={list.conversations.filter(({ status }) => status === "waiting").length}
        />
        <button type="button" className="icon-button" aria-label="New conversation" onClick={onNew}>
          <Icon name="plus" />
        </button>
      </div>
      {list.trouble !== undefined && (
        <p className="conversations-note">
          The list cannot be read.{" "}
          <button type="button" className="link-button" onClick={list.refresh}>
            Try again
          </button>
        </p>
      )}
      {list.isLoaded && list.conversations.length === 0 && (
        <p className="conversations-note">Conversations will be listed here.</p>
      )}
      <ul className="conversations-list">
        {list.conversations.map((listed) => (
          <Item
            key={listed.id}
            listed={listed}
            isCurrent={listed.id === current}
            onLeave={onLeave}
          />
        ))}
      </ul>
      {list.more !== undefined && (
        <button type="button" className="button conversations-more" onClick={list.more}>
          Show more
        </button>
      )}
      <label className="conversations-import">
        <Icon name="upload" size={16} /> Import a conversation
        <input
          className="unseen"
          type="file"
          accept=".ndjson,application/x-ndjson"
          onChange={({ target }) => {
            const file = target.files?.[0];
            if (file !== undefined) onImport(file);
            target.value = "";
          }}
        />
      </label>
    </div>
  );
}

interface ItemProps {
  readonly listed: Listed;
  readonly isCurrent: boolean;
  readonly onLeave: () => void;
}

function Item({ listed: { id, title, status, updatedAt }, isCurrent, onLeave }: ItemProps) {
  return (
    <li>
      <a
        className="conversations-item"
        href={addressOf(id)}
        aria-current={isCurrent ? "page" : undefined}
        onClick={onLeave}
      >
        <span className="conversations-title">{title ?? "Untitled"}</span>
        <span className="conversations-when">
          {status !== "idle" && <span className={`conversations-dot conversations-${status}`} />}
          <span className={status === "waiting" ? "conversations-needs" : "unseen"}>
            {words[status]}
          </span>
          <time dateTime={updatedAt}>{whenInWords(updatedAt)}</time>
        </span>
      </a>
    </li>
  );
}
