import { useState } from "react";
import { WaitingCount } from "../chat/waiting-count.tsx";
import { Icon } from "../icon.tsx";
import type { Api, Listed } from "./api.ts";
import { type ItemActions, ConversationItems } from "./conversation-items.tsx";
import { usePins } from "./use-pins.ts";
import type { ConversationsList } from "./use-list.ts";
import "./conversations.css";

interface ConversationsProps extends Pick<ItemActions, "choicesOf" | "onRename" | "onLeave"> {
  readonly api: Api;
  readonly list: ConversationsList;
  readonly current: string;
  readonly onNew: () => void;
  readonly onImport: (file: File) => void;
}

/** The conversations of the key's tenant: pinned ones first, the rest newest first. */
export function Conversations(props: ConversationsProps) {
  const { api, list, current, onNew, onImport, ...actions } = props;
  const [search, setSearch] = useState("");
  const pins = usePins(api, list.conversations, list.isLoaded);
  const pinned = pins.among(list.conversations);
  const rest = list.conversations.filter(({ id }) => !pins.has(id));
  const shown = found([...pinned, ...rest], search);
  const isEmpty = list.isLoaded && shown.length === 0;
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
      <input
        type="search"
        className="field conversations-search"
        aria-label="Search conversations"
        placeholder="Search"
        value={search}
        onChange={({ target }) => setSearch(target.value)}
      />
      {list.trouble !== undefined && (
        <p className="conversations-note">
          Could not load the list.{" "}
          <button type="button" className="link-button" onClick={list.refresh}>
            Try again
          </button>
        </p>
      )}
      <p className="conversations-note" role="status">
        {isEmpty ? emptyWords(search, list.more !== undefined) : ""}
      </p>
      <ConversationItems shown={shown} current={current} pins={pins} {...actions} />
      {list.more !== undefined && (
        <button type="button" className="button conversations-more" onClick={list.more}>
          Show more
        </button>
      )}
      <ImportField onImport={onImport} />
    </div>
  );
}

function found(listed: readonly Listed[], search: string): readonly Listed[] {
  const words = search.toLowerCase().split(/\s+/);
  return listed.filter(({ title }) => {
    const text = (title ?? "Untitled").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function emptyWords(search: string, hasMore: boolean): string {
  if (search.trim() === "") return "No conversations yet.";
  return hasMore ? "Not among those that are loaded." : "No conversation has this title.";
}

function ImportField({ onImport }: Pick<ConversationsProps, "onImport">) {
  return (
    <label
      className="conversations-import"
      title="An exported conversation, or CSV or JSON as a variable of a new one"
    >
      <Icon name="upload" size={16} /> Import
      <input
        className="unseen"
        type="file"
        accept=".ndjson,.jsonl,.json,.csv,.tsv,application/x-ndjson,application/json,text/csv,text/plain"
        onChange={({ target }) => {
          const file = target.files?.[0];
          if (file !== undefined) onImport(file);
          target.value = "";
        }}
      />
    </label>
  );
}
