import { type KeyboardEvent, useState } from "react";
import { Icon } from "../icon.tsx";
import { whenInWords } from "../words.ts";
import type { Listed } from "./api.ts";
import { type Choice, Menu } from "./menu.tsx";
import type { Pins } from "./use-pins.ts";
import { addressOf } from "./use-route.ts";

export interface ItemActions {
  readonly pins: Pins;
  readonly choicesOf: (id: string) => readonly Choice[];
  readonly onRename: (id: string, title: string) => void;
  /** Called when a conversation is opened. */
  readonly onLeave: () => void;
}

interface ConversationItemsProps extends ItemActions {
  readonly shown: readonly Listed[];
  readonly current: string;
}

const WORDS = { idle: "", running: "answering", waiting: "needs your approval" } as const;

/** The list of conversations, a single Tab stop. Up and Down move through it, Right opens the options. */
export function ConversationItems({ shown, current, ...actions }: ConversationItemsProps) {
  const [focused, setFocused] = useState<string>();
  const [renamed, setRenamed] = useState<string>();
  const stop = [focused, current, shown[0]?.id].find((id) => shown.some((one) => one.id === id));
  return (
    <ul className="conversations-list" onKeyDown={moveFocus}>
      {shown.map((listed) =>
        listed.id === renamed ? (
          <li key={listed.id}>
            <RenameForm
              title={listed.title ?? ""}
              onDone={(title) => {
                setRenamed(undefined);
                if (title !== undefined) actions.onRename(listed.id, title);
              }}
            />
          </li>
        ) : (
          <Item
            key={listed.id}
            listed={listed}
            isCurrent={listed.id === current}
            tabIndex={listed.id === stop ? 0 : -1}
            onFocus={() => setFocused(listed.id)}
            startRename={() => setRenamed(listed.id)}
            {...actions}
          />
        ),
      )}
    </ul>
  );
}

interface ItemProps extends ItemActions {
  readonly listed: Listed;
  readonly isCurrent: boolean;
  readonly tabIndex: number;
  readonly onFocus: () => void;
  readonly startRename: () => void;
}

function Item({ listed, isCurrent, tabIndex, onFocus, startRename, ...actions }: ItemProps) {
  const { id, title, status, updatedAt } = listed;
  const isPinned = actions.pins.has(id);
  const choices: readonly Choice[] = [
    { icon: "edit", word: "Rename", act: startRename },
    { icon: "pin", word: isPinned ? "Unpin" : "Pin", act: () => actions.pins.toggle(id) },
    ...actions.choicesOf(id),
  ];
  return (
    <li className="conversations-row">
      <a
        className="conversations-item"
        href={addressOf(id)}
        tabIndex={tabIndex}
        aria-current={isCurrent ? "page" : undefined}
        onFocus={onFocus}
        onClick={actions.onLeave}
      >
        {isPinned && (
          <span className="conversations-pin" title="Pinned in this browser">
            <Icon name="pin" size={13} />
            <span className="unseen">Pinned: </span>
          </span>
        )}
        <span className="conversations-title">{title ?? "Untitled"}</span>
        <span className="conversations-when">
          {status !== "idle" && <span className={`conversations-dot conversations-${status}`} />}
          <span className={status === "waiting" ? "conversations-needs" : "unseen"}>
            {WORDS[status]}
          </span>
          <time dateTime={updatedAt}>{whenInWords(updatedAt)}</time>
        </span>
      </a>
      <Menu label="Conversation options" tabIndex={-1} choices={choices} />
    </li>
  );
}

interface RenameFormProps {
  readonly title: string;
  /** Called with the new title, or without one to keep the old title. */
  readonly onDone: (title?: string) => void;
}

function RenameForm({ title, onDone }: RenameFormProps) {
  const [draft, setDraft] = useState(title);
  const isNew = draft.trim() !== "" && draft.trim() !== title;
  return (
    <form
      className="conversations-rename"
      onSubmit={(event) => {
        event.preventDefault();
        onDone(isNew ? draft.trim() : undefined);
      }}
    >
      <input
        className="field"
        aria-label="New title"
        value={draft}
        maxLength={200}
        autoFocus
        onFocus={({ target }) => target.select()}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={() => onDone()}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "Escape") onDone();
        }}
      />
    </form>
  );
}

function moveFocus(event: KeyboardEvent<HTMLUListElement>): void {
  const from = event.target;
  // An open menu handles the arrow keys itself.
  if (!(from instanceof HTMLElement) || from.closest("[role=menu]") !== null) return;
  const row = from.closest("li");
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>(".conversations-item")];
  const at = links.findIndex((link) => link.parentElement === row);
  const targets: Readonly<Record<string, HTMLElement | null | undefined>> = {
    ArrowDown: links[at + 1],
    ArrowUp: links[at - 1],
    Home: links[0],
    End: links.at(-1),
    ArrowRight: row?.querySelector<HTMLElement>(".menu button"),
    ArrowLeft: links[at],
  };
  const target = targets[event.key];
  if (target === undefined || target === null) return;
  event.preventDefault();
  target.focus();
}
