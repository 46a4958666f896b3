import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";
import type { ListedConversation } from "../../../packages/client/src/client.ts";
import { Button, FileButton, Icon, IconButton, moveFocus, WaitingCount } from "../controls.tsx";
import { useStored } from "../hooks.ts";
import { ProgramsDialog } from "../programs/programs.tsx";
import { unchanging } from "../queries.ts";
import type { Entry } from "../session.ts";
import { whenInWords } from "../words.ts";
import { type Choice, Menu, RenameForm } from "./header.tsx";
import { addressOf } from "./use-route.ts";
import "./conversations.css";

interface ConversationsProps {
  readonly entry: Entry;
  /** Id of the open conversation. */
  readonly current: string;
  readonly choicesOf: (id: string) => readonly Choice[];
  readonly onRename: (id: string, title: string) => void;
  /** Called when a conversation is opened. */
  readonly onLeave: () => void;
  readonly onNew: () => void;
  readonly onImport: (file: File) => void;
}

const PAGE = 30;

/** The conversations of the key's tenant: pinned ones first, the rest newest first. */
export function Conversations({ entry, onNew, onImport, ...others }: ConversationsProps) {
  const [showsPrograms, setShowsPrograms] = useState(false);
  const [search, setSearch] = useState("");
  // Loads again after changes, and when the page becomes visible.
  const { data, error, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: ["conversations"],
    queryFn: ({ pageParam: before }) => entry.client.conversations({ limit: PAGE, before }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const listed = data?.pages.flatMap(({ conversations }) => conversations);
  const pins = usePins(entry, listed);
  const rest = listed?.filter(({ id }) => !pins.has(id)) ?? [];
  const shown = found([...pins.pinned, ...rest], search);
  const isEmpty = listed !== undefined && shown.length === 0;
  return (
    <div className="conversations">
      <div className="conversations-head">
        <span className="conversations-brand">Byref</span>
        <WaitingCount count={listed?.filter(({ status }) => status === "waiting").length ?? 0} />
        <IconButton icon="plus" label="New conversation" onClick={onNew} />
      </div>
      <input
        type="search"
        className="field conversations-search"
        aria-label="Search conversations"
        placeholder="Search"
        value={search}
        onChange={({ target }) => setSearch(target.value)}
      />
      {error !== null && (
        <p className="conversations-note">
          Could not load the list.{" "}
          <Button className="link-button" onClick={() => void refetch()}>
            Try again
          </Button>
        </p>
      )}
      <p className="conversations-note" role="status">
        {isEmpty ? emptyWords(search, hasNextPage) : ""}
      </p>
      <Items {...others} {...{ shown, pins }} />
      {hasNextPage && (
        <Button className="button conversations-more" onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
      <div className="conversations-foot">
        <Button className="conversations-import" onClick={() => setShowsPrograms(true)}>
          <Icon name="run" size={16} /> Programs
        </Button>
        <FileButton
          className="conversations-import"
          label="Import"
          title="An exported conversation, or CSV or JSON as a variable of a new one"
          accept=".ndjson,.jsonl,.json,.csv,.tsv,application/x-ndjson,application/json,text/csv,text/plain"
          onFiles={([file]) => file && onImport(file)}
        >
          <Icon name="upload" size={16} /> Import
        </FileButton>
      </div>
      {showsPrograms && (
        <ProgramsDialog
          entry={entry}
          onClose={() => {
            setShowsPrograms(false);
            others.onLeave();
          }}
        />
      )}
    </div>
  );
}

function found(listed: readonly ListedConversation[], search: string) {
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

const MAX_PINS = 50;

/** Pinned conversations, stored in this browser, because the server does not store pins. */
function usePins({ client }: Entry, listed: readonly ListedConversation[] | undefined) {
  const [ids, store] = useStored("byref-pins");
  const known = new Map(listed?.map((one) => [one.id, one]));
  // Those that are not in the loaded part of the list.
  const missing = listed === undefined ? [] : ids.filter((id) => !known.has(id));
  const { data: others = [] } = useQuery({
    queryKey: ["pinned", ...missing],
    // One that was deleted, or is of another key, is not found.
    queryFn: () =>
      Promise.all(
        missing.map((id) =>
          client
            .conversation(id)
            .about()
            .catch(() => null),
        ),
      ),
    ...unchanging,
  });
  for (const other of others) if (other !== null) known.set(other.id, other);
  const pinned = ids.flatMap((id) => known.get(id) ?? []);
  return {
    has: (id: string) => ids.includes(id),
    toggle: (id: string) => {
      const rest = ids.filter((one) => one !== id);
      store(rest.length < ids.length ? rest : [id, ...ids].slice(0, MAX_PINS));
    },
    /** Newest first. */
    pinned: pinned.toSorted((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt)),
  };
}

interface ItemsProps extends Pick<
  ConversationsProps,
  "current" | "choicesOf" | "onRename" | "onLeave"
> {
  readonly pins: ReturnType<typeof usePins>;
  readonly shown: readonly ListedConversation[];
}

const WORDS = { idle: "", running: "answering", waiting: "needs your approval" } as const;

/** The list of conversations, a single Tab stop. Up and Down move through it, Right opens the options. */
function Items({ shown, pins, current, choicesOf, onRename, onLeave }: ItemsProps) {
  const [focused, setFocused] = useState<string>();
  const [renamed, setRenamed] = useState<string>();
  const known = [focused, current, shown[0]?.id];
  const stop = known.find((id) => shown.some((one) => one.id === id));
  const done = (id: string, next?: string) => {
    setRenamed(undefined);
    if (next !== undefined) onRename(id, next);
  };
  return (
    <ul className="conversations-list" onKeyDown={moveThrough}>
      {shown.map(({ id, title, status, updatedAt }) => {
        const isPinned = pins.has(id);
        const choices: readonly Choice[] = [
          { icon: "edit", word: "Rename", act: () => setRenamed(id) },
          { icon: "pin", word: isPinned ? "Unpin" : "Pin", act: () => pins.toggle(id) },
          ...choicesOf(id),
        ];
        return id === renamed ? (
          <li key={id}>
            <RenameForm
              className="conversations-rename"
              label="New title"
              title={title ?? ""}
              onDone={(next) => done(id, next)}
            />
          </li>
        ) : (
          <li key={id} className="conversations-row">
            <a
              className="conversations-item"
              href={addressOf(id)}
              tabIndex={id === stop ? 0 : -1}
              aria-current={id === current ? "page" : undefined}
              onFocus={() => setFocused(id)}
              onClick={onLeave}
            >
              {isPinned && (
                <span className="conversations-pin" title="Pinned in this browser">
                  <Icon name="pin" size={13} />
                  <span className="unseen">Pinned: </span>
                </span>
              )}
              <span className="conversations-title">{title ?? "Untitled"}</span>
              <span className="conversations-when">
                {status !== "idle" && (
                  <span className={`conversations-dot conversations-${status}`} />
                )}
                <span className={status === "waiting" ? "conversations-needs" : "unseen"}>
                  {WORDS[status]}
                </span>
                <time dateTime={updatedAt}>{whenInWords(updatedAt)}</time>
              </span>
            </a>
            <Menu label="Conversation options" tabIndex={-1} choices={choices} />
          </li>
        );
      })}
    </ul>
  );
}

function moveThrough(event: KeyboardEvent<HTMLUListElement>): void {
  const from = event.target;
  // An open menu handles the arrow keys itself.
  if (!(from instanceof HTMLElement) || from.closest("[role=menu]") !== null) return;
  const row = from.closest("li");
  moveFocus(event, ".conversations-item", {
    ArrowRight: row?.querySelector<HTMLElement>(".menu button"),
    ArrowLeft: row?.querySelector<HTMLElement>(".conversations-item"),
  });
}
