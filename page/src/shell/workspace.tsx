import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { TroubleNote } from "../chat/trouble-note.tsx";
import { reloading } from "../queries.ts";
import type { Entry } from "../session.ts";
import { apiOf } from "./api.ts";
import { Confirm } from "./confirm.tsx";
import { ConversationPage } from "./conversation-page.tsx";
import { Conversations } from "./conversations.tsx";
import { Header } from "./header.tsx";
import type { Choice } from "./menu.tsx";
import { ShortcutsDialog } from "./shortcuts-dialog.tsx";
import { SkipLink } from "./skip-link.tsx";
import { useAgents } from "./use-agents.ts";
import { useChoices } from "./use-choices.ts";
import { useList } from "./use-list.ts";
import { type Opened, useOpened } from "./use-opened.ts";
import { begin, newId, useRoute } from "./use-route.ts";
import { useShortcuts } from "./use-shortcuts.ts";
import { useTheme } from "./use-theme.ts";
import { ViewBoundary } from "../view-boundary.tsx";
import "./workspace.css";

/** From this width on, the list of conversations is beside the open conversation. */
const WIDE_PX = 1_100;

interface WorkspaceProps {
  readonly entry: Entry;
  /** Deletes the stored key; undefined if there is none. */
  readonly leave: (() => void) | undefined;
}

export function Workspace({ entry, leave }: WorkspaceProps) {
  const api = useMemo(() => apiOf(entry), [entry]);
  const [id, go] = useRoute();
  const queries = useQueryClient();
  const change = useMemo(() => reloading(queries), [queries]);
  const list = useList(api);
  const opened = useOpened(entry, id);
  const { trouble, forget, run } = useTrouble();
  const { isOpen, isDrawer, toggle, closeDrawer } = useDrawer();
  const open = (next: string) => {
    go(next);
    closeDrawer();
  };
  const choices = useChoices({ entry, api, current: id, run, open, change });
  const shortcuts = useShortcuts();
  const whole = { entry, id, ...choices, leave, change, showShortcuts: shortcuts.open };
  return (
    <div className="workspace">
      <SkipLink />
      {isDrawer && <div className="workspace-shade" onClick={closeDrawer} aria-hidden="true" />}
      <nav
        id="conversations"
        className="workspace-list"
        aria-label="Conversations"
        hidden={!isOpen}
      >
        <ViewBoundary>
          <Conversations
            list={list}
            current={id}
            api={api}
            choicesOf={choices.choicesOf}
            onRename={choices.rename}
            onNew={() => open(newId())}
            onImport={choices.importInto}
            onLeave={closeDrawer}
          />
        </ViewBoundary>
      </nav>
      <div className="workspace-conversation" inert={isDrawer}>
        {trouble !== undefined && <TroubleNote trouble={trouble} dismiss={forget} />}
        <Current opened={opened} whole={whole} isListOpen={isOpen} toggleList={toggle} />
      </div>
      {shortcuts.isOpen && <ShortcutsDialog onClose={shortcuts.close} />}
      {choices.question !== undefined && <Confirm {...choices.question} onNo={choices.close} />}
    </div>
  );
}

interface CurrentProps {
  readonly opened: Opened;
  readonly whole: Pick<WorkspaceProps, "entry" | "leave"> &
    Pick<ReturnType<typeof useChoices>, "choicesOf" | "rename"> & {
      readonly id: string;
      readonly change: () => void;
      readonly showShortcuts: () => void;
    };
  readonly isListOpen: boolean;
  readonly toggleList: () => void;
}

/** The open conversation, below its header. */
function Current({ opened, whole, isListOpen, toggleList }: CurrentProps) {
  const { entry, id, choicesOf, leave, change } = whole;
  const own = choicesOf(id).map((choice) => ({ ...choice, isOff: !opened.exists }));
  const isLast = ({ isDangerous = false }: Choice) => isDangerous;
  const choices: readonly Choice[] = [
    ...own.filter((choice) => !isLast(choice)),
    { icon: "keyboard", word: "Keyboard shortcuts", act: whole.showShortcuts },
    ...own.filter(isLast),
    ...(leave === undefined ? [] : [{ icon: "close", word: "Sign out", act: leave } as const]),
  ];
  const { described, agents, agent, setAgent } = useAgents(entry, id);
  const name = described.page?.title ?? "Byref";
  const [theme, setTheme] = useTheme();
  const rename = (title: string) => whole.rename(id, title);
  const onBegin = useCallback(() => {
    begin(id);
    change();
  }, [id, change]);
  const [waiting, setWaiting] = useState(0);
  useEffect(() => {
    const title = opened.title == null ? name : `${opened.title} · ${name}`;
    document.title = waiting === 0 ? title : `(${waiting}) ${title}`;
  }, [opened.title, name, waiting]);
  const chosen = { agents, agent, setAgent };
  return (
    <>
      <Header
        {...chosen}
        title={opened.title}
        rename={opened.exists ? rename : undefined}
        theme={theme}
        setTheme={setTheme}
        choices={choices}
        isListOpen={isListOpen}
        toggleList={toggleList}
      />
      {opened.trouble !== undefined && (
        <TroubleNote trouble={opened.trouble} retry={opened.retry} />
      )}
      {opened.loaded !== undefined && (
        <ViewBoundary key={id}>
          <ConversationPage
            {...chosen}
            described={described}
            session={opened.session}
            loaded={opened.loaded}
            exists={opened.exists}
            onChange={change}
            onWaiting={setWaiting}
            onBegin={onBegin}
          />
        </ViewBoundary>
      )}
    </>
  );
}

function useTrouble() {
  const [trouble, setTrouble] = useState<unknown>();
  const forget = () => setTrouble(undefined);
  const run = useCallback((work: () => Promise<unknown>) => {
    setTrouble(undefined);
    work().catch(setTrouble);
  }, []);
  return { trouble, forget, run };
}

/**
 * State of the list of conversations. It stays open on a wide screen; otherwise it covers the conversation until
 * one is chosen.
 */
function useDrawer() {
  const isWide = useMedia(`(min-width: ${WIDE_PX}px)`);
  const [isOpen, setOpen] = useState(isWide);
  useEffect(() => {
    setOpen(isWide);
  }, [isWide]);
  const closeDrawer = useCallback(() => {
    if (!isWide) setOpen(false);
  }, [isWide]);
  const isDrawer = isOpen && !isWide;
  useEffect(() => {
    if (!isDrawer) return undefined;
    const opener = document.activeElement;
    document.querySelector<HTMLElement>("#conversations a, #conversations button")?.focus();
    const close = ({ key }: KeyboardEvent) => key === "Escape" && closeDrawer();
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("keydown", close);
      // Waits until the covered content accepts focus again.
      setTimeout(() => opener instanceof HTMLElement && opener.focus());
    };
  }, [isDrawer, closeDrawer]);
  return { isOpen, isDrawer, toggle: () => setOpen(!isOpen), closeDrawer };
}

function useMedia(query: string): boolean {
  const [isTrue, setTrue] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const follow = () => setTrue(list.matches);
    follow();
    list.addEventListener("change", follow);
    return () => list.removeEventListener("change", follow);
  }, [query]);
  return isTrue;
}
