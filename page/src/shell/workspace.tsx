import { type InfiniteData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { ListedConversation } from "../../../packages/client/src/client.ts";
import type { AgentsDescription } from "../../../src/edge/page-options.ts";
import { Button, Confirm, download, TroubleNote } from "../controls.tsx";
import { aboutOf, type Loaded, loadMessages } from "../chat/use-chatting.ts";
import { useAttempt, useMedia, useStored } from "../hooks.ts";
import { reloading, unchanging } from "../queries.ts";
import type { Entry, Session } from "../session.ts";
import { ViewBoundary } from "../view-boundary.tsx";
import { ConversationPage } from "./conversation-page.tsx";
import { Conversations } from "./conversations.tsx";
import { type Choice, Header } from "./header.tsx";
import { ShortcutsDialog, SkipLink, useShortcuts } from "./shortcuts.tsx";
import { begin, hear, isUnheardOf, newId, useRoute } from "./use-route.ts";
import { decoded, kindOfText, uploadOf } from "../variables/uploads.tsx";

import "./workspace.css";

/** From this width on, the list of conversations is beside the open conversation. */
const WIDE_PX = 1_100;

interface WorkspaceProps {
  readonly entry: Entry;
  /** Deletes the stored key; undefined if there is none. */
  readonly leave: (() => void) | undefined;
}

export function Workspace({ entry, leave }: WorkspaceProps) {
  const [id, go] = useRoute();
  const { isOpen, isDrawer, toggle, closeDrawer } = useDrawer();
  const [isHelpOpen, setHelpOpen] = useShortcuts();
  const open = (next: string) => {
    go(next);
    closeDrawer();
  };
  const { note, question, change, choicesOf, onRename, onImport } = useActions(entry, id, open);
  const { session, loaded, title, exists, isGone, trouble, retry } = useOpened(entry, id);
  const own = choicesOf(id).map((choice) => ({ ...choice, isOff: !exists }));
  const choices: readonly Choice[] = [
    ...own.slice(0, -1),
    { icon: "keyboard", word: "Keyboard shortcuts", act: () => setHelpOpen(true) },
    ...own.slice(-1),
    ...(leave === undefined ? [] : [{ icon: "close", word: "Sign out", act: leave } as const]),
  ];
  const { described, agent, setAgent } = useAgents(entry, id);
  const setWaiting = useDocumentTitle(title, described.page?.title ?? "Byref");
  const onBegin = useCallback(() => {
    begin(id);
    change();
  }, [id, change]);
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
            {...{ entry, choicesOf, onRename, onImport }}
            current={id}
            onNew={() => open(newId())}
            onLeave={closeDrawer}
          />
        </ViewBoundary>
      </nav>
      <div className="workspace-conversation" inert={isDrawer}>
        {note}
        <Header
          {...{ title, agent, setAgent, choices }}
          isListOpen={isOpen}
          toggleList={toggle}
          agents={described.agents}
          rename={exists ? (next) => onRename(id, next) : undefined}
        />
        <TroubleNote trouble={trouble} retry={retry} />
        {isGone && (
          <main className="workspace-gone">
            <p role="alert">This conversation was deleted, or its link is not complete.</p>
            <Button isMain onClick={() => open(newId())}>
              New conversation
            </Button>
          </main>
        )}
        {loaded === undefined && !isGone && trouble === null && (
          <p className="workspace-loading" role="status">
            <span className="unseen">Loading the conversation</span>
          </p>
        )}
        {loaded !== undefined && !isGone && (
          <ViewBoundary key={id}>
            <ConversationPage
              {...{ described, agent, setAgent, session, loaded, exists, onBegin }}
              onChange={change}
              onWaiting={setWaiting}
            />
          </ViewBoundary>
        )}
      </div>
      {isHelpOpen && <ShortcutsDialog onClose={() => setHelpOpen(false)} />}
      {question}
    </div>
  );
}

/** What can be done with conversations. `note` shows a failure, `question` asks before one is deleted. */
function useActions(entry: Entry, current: string, open: (id: string) => void) {
  const queries = useQueryClient();
  const change = useMemo(() => reloading(queries), [queries]);
  const [trouble, attempt, forget] = useAttempt();
  const [deleted, setDeleted] = useState<string>();
  const run = (work: () => Promise<unknown>) => void attempt(work);
  const show = (id: string) => {
    change();
    open(id);
  };
  const remove = async (id: string) => {
    setDeleted(undefined);
    await entry.client.conversation(id).delete();
    change();
    if (id === current) open(newId());
  };
  const copy = async (id: string) =>
    show((await entry.ask<{ readonly id: string }>("POST", `${pathOf(id)}/fork`)).id);
  const save = async (id: string) => download(await entry.link(id, "/export"), `${id}.ndjson`);
  return {
    change,
    choicesOf: (id: string): readonly Choice[] => [
      { icon: "fork", word: "Fork", act: () => run(() => copy(id)) },
      { icon: "download", word: "Export", act: () => run(() => save(id)) },
      { icon: "trash", word: "Delete", isDangerous: true, act: () => setDeleted(id) },
    ],
    onRename: (id: string, title: string) =>
      run(() => entry.ask("PATCH", pathOf(id), { json: { title } }).then(change)),
    onImport: (file: File) =>
      run(async () => {
        const imported = await importFile(entry, file, newId());
        hear(imported);
        show(imported);
      }),
    note: <TroubleNote trouble={trouble} dismiss={forget} />,
    question: deleted !== undefined && (
      <Confirm
        title="Delete this conversation?"
        text="Its messages, variables, plans and files are deleted. This cannot be undone."
        word="Delete"
        onNo={() => setDeleted(undefined)}
        onYes={() => run(() => remove(deleted))}
      />
    ),
  };
}

function pathOf(id: string): string {
  return `/conversations/${encodeURIComponent(id)}`;
}

/** Names the tab. The function that it returns sets the number of open approvals. */
function useDocumentTitle(title: string | null | undefined, name: string) {
  const [waiting, setWaiting] = useState(0);
  useEffect(() => {
    const words = title == null ? name : `${title} · ${name}`;
    document.title = waiting === 0 ? words : `(${waiting}) ${words}`;
  }, [title, name, waiting]);
  return setWaiting;
}

type Listed = { readonly conversations: readonly ListedConversation[] };

/** Loads the conversation that the URL names. */
function useOpened(entry: Entry, id: string) {
  const session = useMemo(
    () => ({ ...entry, conversation: entry.client.conversation(id) }),
    [entry, id],
  );
  const opened = useQuery({
    queryKey: ["conversation", id, "opened"],
    queryFn: () => load(session),
    ...unchanging,
    // Not cached, because the conversation may have other messages when it is opened again.
    gcTime: 0,
  });
  const { data: about } = useQuery({
    queryKey: ["conversation", id, "about"],
    queryFn: async () => (isUnheardOf(id) ? null : ((await aboutOf(session)) ?? "gone")),
  });
  const list = useQueryClient().getQueryData<InfiniteData<Listed>>(["conversations"]);
  const listed = list?.pages.flatMap(({ conversations }) => conversations);
  const isGone = about === undefined ? opened.data?.isGone === true : about === "gone";
  const known = about === "gone" ? null : (about ?? listed?.find((one) => one.id === id));
  return {
    session,
    loaded: opened.data,
    /** Null for a conversation without a title, undefined while it is loaded. */
    title: isGone ? "Conversation not found" : isUnheardOf(id) ? null : known?.title,
    exists: about != null && about !== "gone",
    /** True if the server does not know it, or does not know it any more. */
    isGone,
    trouble: opened.error,
    retry: () => void opened.refetch(),
  };
}

async function load(session: Session): Promise<Loaded & { readonly isGone: boolean }> {
  const isNew = isUnheardOf(session.conversation.id);
  const page = isNew ? undefined : await loadMessages(session);
  const exists = page !== undefined;
  return { messages: [], ...page, exists, isGone: !isNew && !exists };
}

/** Maximum number of conversations whose chosen agent is stored. */
const MAX_REMEMBERED = 100;

/** Used until the agents are loaded: the server then chooses the agent. */
const UNKNOWN: AgentsDescription = { agents: [] };

/** Query options for the server's description of its agents. */
export function agentsQuery({ client, options }: Entry) {
  const queryKey = ["agents", options.auth];
  return { queryKey, queryFn: () => client.agents(), ...unchanging };
}

/** Returns the agents and the one for this conversation: the agent chosen in it, or else in the last conversation. */
function useAgents(entry: Entry, conversation: string) {
  const { data: described = UNKNOWN } = useQuery(agentsQuery(entry));
  // Each is a conversation and its agent.
  const [remembered, store] = useStored("byref-agents");
  const { agents, page } = described;
  const isOwn = (one: string) => one.startsWith(`${conversation} `);
  const chosen = [remembered.find(isOwn), remembered[0]].map((one) => one?.replace(/^\S+ /, ""));
  const known = [...chosen, page?.agent, agents[0]?.name];
  const agent = known.find((name) => agents.some((one) => one.name === name));
  const setAgent = (name: string) => {
    const others = remembered.filter((one) => !isOwn(one));
    store([`${conversation} ${name}`, ...others].slice(0, MAX_REMEMBERED));
  };
  return { described, agent, setAgent };
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

/** Size of an import's parts, below the server's limit. */
const PART_BYTES = 90 * 1024 * 1024;

/** Uploads an export in parts. Resolves with the new conversation's id. */
async function importExport({ ask }: Entry, file: Blob): Promise<string> {
  const of = Math.max(1, Math.ceil(file.size / PART_BYTES));
  let upload: string | undefined;
  for (let part = 1; part <= of; part++) {
    const body = file.slice((part - 1) * PART_BYTES, part * PART_BYTES);
    const answer = await ask<{ readonly id?: string; readonly import?: string }>(
      "POST",
      "/conversations/import",
      {
        query: { part, of, import: upload },
        headers: { "content-type": "application/x-ndjson" },
        body,
      },
    );
    if (answer.id !== undefined) return answer.id;
    upload = answer.import;
  }
  throw new Error("The import did not end.");
}

const HEAD_BYTES = 65_536;

/**
 * Imports an export as a conversation, or CSV and JSON as a variable of a new one. Returns its id. Throws an error
 * with a message for the user for any other file.
 */
async function importFile(entry: Entry, file: File, id: string): Promise<string> {
  const kind = kindOfText(
    decoded(await file.slice(0, HEAD_BYTES).arrayBuffer()),
    file.size > HEAD_BYTES,
  );
  if (kind === "export") return importExport(entry, file);
  if (kind === undefined) {
    throw new Error(
      `Could not import ${file.name}: it is not a conversation export. To add data, use Add file.`,
    );
  }
  const { name, body, ...type } = await uploadOf(file, kind);
  await entry.client.conversation(id).variables.put(name, body, type);
  return id;
}
