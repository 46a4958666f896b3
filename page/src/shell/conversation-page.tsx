import { onlineManager, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { flushSync } from "react-dom";
import { type Events, useEvents, useVariables } from "../../../packages/client/src/react.ts";
import type { AgentsDescription } from "../../../src/edge/page-options.ts";
import { ChatView } from "../chat/chat-view.tsx";
import { askingIn, textsOf } from "../chat/tool-part.ts";
import { type Chatting, type Loaded, useChatting } from "../chat/use-chatting.ts";
import { useWaiting } from "../chat/waiting.tsx";
import { ConversationContext, type SideTab, type View } from "../conversation-context.ts";
import { EventsPanel } from "../events/events-panel.tsx";
import { MeterPanel } from "../meter/meter-panel.tsx";
import { SentPrompt } from "../meter/sent-prompt.tsx";
import { PlansPanel } from "../plans/plans-panel.tsx";
import type { Session } from "../session.ts";
import { VariablesPanel } from "../variables/variables-panel.tsx";
import { ViewBoundary } from "../view-boundary.tsx";
import { plural } from "../words.ts";
import { BottomTabs, Side } from "./side.tsx";
import "./connection-note.css";

interface ConversationPageProps {
  readonly session: Session;
  readonly loaded: Loaded;
  /** True if the server knows the conversation. */
  readonly exists: boolean;
  readonly described: AgentsDescription;
  readonly agent: string | undefined;
  readonly setAgent: (name: string) => void;
  /** Called when the title or status changes. */
  readonly onChange: () => void;
  /** Called with the number of open approvals. */
  readonly onWaiting: (count: number) => void;
  /** Called when the server has stored the conversation. */
  readonly onBegin: () => void;
}

/** A conversation with its panels. */
export function ConversationPage(props: ConversationPageProps) {
  const { session, loaded, setAgent, described, agent, onWaiting } = props;
  const { chatting, exists, events, variables, written } = useParts(props);
  const waiting = useWaiting(chatting.messages, events.events, onWaiting);
  const [view, open] = useView();
  useNewPlans(events, loaded.exists, open);
  const { events: known } = events;
  const context = useMemo(
    () => ({ session, variables, events: known, open }),
    [session, variables, known, open],
  );
  const field = useRef<HTMLTextAreaElement>(null);
  const tabs = { open, count: variables.size, waiting };
  const prompt = agent !== undefined && <SentPrompt agent={agent} exists={exists} />;
  const panels: Readonly<Record<SideTab, React.ReactNode>> = {
    variables: (
      <VariablesPanel
        exists={exists}
        onSaved={props.onBegin}
        selected={view.variable}
        onSelect={(variable) => open({ variable })}
      />
    ),
    plans: <PlansPanel exists={exists} selected={view.plan} onSelect={(plan) => open({ plan })} />,
    events: <EventsPanel {...{ events, chatting, prompt }} turn={view.turn} />,
    meter: <MeterPanel messages={chatting.messages} prompt={prompt} />,
  };
  return (
    <ConversationContext value={context}>
      <ConnectionNote {...events} />
      <main className="workspace-body" data-tab={view.tab}>
        <section className="workspace-main" aria-label="Conversation">
          <ViewBoundary>
            <ChatView
              {...{ chatting, waiting, written, described, agent, field }}
              onSaved={props.onBegin}
              onExample={({ agent: own, question }) => {
                // The chat has the agent before it sends the question.
                if (own !== undefined) flushSync(() => setAgent(own));
                chatting.send(question);
                // Skipped on touch screens, where the keyboard would hide the answer.
                if (matchMedia("(hover: hover)").matches) field.current?.focus();
              }}
            />
          </ViewBoundary>
        </section>
        <Side tab={view.side} {...tabs}>
          <ViewBoundary key={view.side}>{panels[view.side]}</ViewBoundary>
        </Side>
      </main>
      <Announcements chatting={chatting} variables={variables.size} />
      <BottomTabs tab={view.tab} {...tabs} />
    </ConversationContext>
  );
}

function useParts(props: ConversationPageProps) {
  const { session, loaded, onChange } = props;
  const chatting = useChatting(props);
  const hasAnswer = chatting.messages.some(({ role }) => role === "assistant");
  // The server may not have received a question that was just sent.
  const exists = loaded.exists || props.exists || hasAnswer;
  useEffect(() => {
    if (hasAnswer) onChange();
  }, [hasAnswer, onChange]);
  const conversation = exists ? session.conversation : undefined;
  const events = useEvents(conversation);
  const { isLive } = events;
  const newest = events.events.at(-1)?.id;
  useEffect(() => {
    // Events end when the connection is lost, and when the conversation is deleted elsewhere.
    if (newest !== undefined) onChange();
  }, [newest, isLive, onChange]);
  useOthers(events, chatting);
  const listed = useVariables(conversation);
  const variables = useMemo(() => new Map(listed.map((info) => [info.name, info])), [listed]);
  const written = useWritten(session, hasAnswer && !chatting.isBusy);
  return { chatting, exists, events, variables, written };
}

/**
 * Shows turns that run elsewhere: in another tab, on another device or in a program. Joins a turn that begins, or
 * that runs when the page begins to listen. Loads a turn that ended without being joined, also one of this page if
 * its connection was lost for longer than the chat waits.
 */
function useOthers({ events, isLive, turn }: Events, chatting: Chatting): void {
  const { messages, isBusy, join, reload, catchUp } = chatting;
  useEffect(() => {
    if (isLive) catchUp();
    // A new conversation has no events yet.
    return onlineManager.subscribe((isOnline) => isOnline && catchUp());
  }, [isLive, catchUp]);
  // A message that waits for an approval continues once the approval is decided elsewhere.
  const isShown = (turnId: string | undefined, isRunning: boolean) =>
    messages.some((one) => one.id === turnId && (isRunning || askingIn(one).length === 0));
  const joined = useRef<Events["turn"]>(undefined);
  useEffect(() => {
    if (turn === undefined || turn === joined.current) return;
    const isOwn = isShown(turn.id, isBusy);
    // Two streams at once would mix, so the turn is joined when this page's own turn has ended.
    if (isBusy && !isOwn) return;
    joined.current = turn;
    if (!isOwn) join();
  }, [turn, isBusy, messages, join]);

  const last = events.findLast(({ type }) => type === "turn.done");
  const seen = useRef<number>(undefined);
  useEffect(() => {
    if (last === undefined || isBusy || last.id === seen.current) return;
    seen.current = last.id;
    if (!isShown(last.turn, false)) reload();
  }, [last, isBusy, messages, reload]);
}

type WrittenTexts = Readonly<Record<string, readonly string[]>>;

const WRITTEN_PAGE = 100;
const NOTHING_WRITTEN: WrittenTexts = {};

/** Loads the texts as the model wrote them, if `hasAnswers`. Answers are shown without them until then. */
function useWritten({ conversation }: Session, hasAnswers: boolean): WrittenTexts {
  const queries = useQueryClient();
  const queryKey = ["conversation", conversation.id, "written"];
  const { data = NOTHING_WRITTEN } = useQuery({
    queryKey,
    enabled: hasAnswers,
    // Unchanged texts keep their identity, so that answers are not rendered again.
    queryFn: async (): Promise<WrittenTexts> => {
      const query = { form: "reference", limit: WRITTEN_PAGE } as const;
      const { messages } = await conversation.messages(query);
      const texts = Object.fromEntries(messages.map(({ id, parts }) => [id, textsOf(parts)]));
      return { ...queries.getQueryData<object>(queryKey), ...texts };
    },
  });
  return data;
}

/** After this time without an event, all earlier events have arrived. */
const PAST_ENDS_AFTER_MS = 1_000;

/** Opens a plan when it is proposed, if there is room. */
function useNewPlans(
  { events, isLive }: Events,
  existed: boolean,
  open: (view: Partial<View>) => void,
): void {
  const last = events.findLast(({ type }) => type === "plan.proposed");
  const [id, plan] = [last?.id ?? 0, last?.plan];
  // Earlier plans do not open. Their events may come in several batches.
  const seen = useRef(existed ? undefined : 0);
  useEffect(() => {
    if (!isLive) return undefined;
    if (seen.current === undefined) {
      const timer = setTimeout(() => {
        seen.current = id;
      }, PAST_ENDS_AFTER_MS);
      return () => clearTimeout(timer);
    }
    if (id > seen.current) open({ side: "plans", plan });
    seen.current = id;
    return undefined;
  }, [events, id, plan, isLive, open]);
}

function useView() {
  const [view, setView] = useState<View>({ tab: "talk", side: "variables" });
  const open = useCallback((next: Partial<View>) => {
    const side = next.tab === undefined || next.tab === "talk" ? {} : { side: next.tab };
    setView((last) => ({ ...last, ...next, ...side }));
  }, []);
  return [view, open] as const;
}

interface AnnouncementsProps {
  readonly chatting: Pick<Chatting, "isBusy" | "messages">;
  /** Number of variables. */
  readonly variables: number;
}

/** Announces to screen readers when an answer begins and how it ends. Errors are alerts of their own. */
function Announcements({ chatting: { isBusy, messages }, variables }: AnnouncementsProps) {
  const [words, setWords] = useState("");
  const wasBusy = useRef(false);
  useEffect(() => {
    if (isBusy === wasBusy.current) return;
    wasBusy.current = isBusy;
    setWords(isBusy ? "Answering" : endOf(messages.at(-1), variables));
  }, [isBusy, messages, variables]);
  return (
    <p className="unseen" role="status">
      {words}
    </p>
  );
}

function endOf(message: Chatting["messages"][number] | undefined, variables: number): string {
  const metadata = message?.metadata as { error?: string; stopped?: boolean } | undefined;
  if (askingIn(message).length > 0) return "The answer waits: approve or deny the call";
  if (metadata?.stopped === true) return "Answer ended early";
  if (message?.role !== "assistant" || metadata?.error !== undefined) return "";
  return `Answer finished, ${plural(variables, "variable")}`;
}

/** Delay before the note appears, so that short interruptions are not shown. */
const SHOWN_AFTER_MS = 1_000;

/** Notes that the page may be out of date because the browser is offline or the server unreachable. */
function ConnectionNote({ events, isLive }: Events) {
  const isOnline = useSyncExternalStore(onlineManager.subscribe, () => onlineManager.isOnline());
  // A new conversation has no events yet.
  const isLost = events.length > 0 && !isLive;
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    setShown(false);
    if (!isLost) return undefined;
    const timer = setTimeout(() => setShown(true), SHOWN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isLost]);
  const name = isOnline ? "The connection to the server is lost." : "You are offline.";
  return (
    <p className="connection-note" role="status">
      {(!isOnline || isShown) && `${name} What has changed is shown when it is back.`}
    </p>
  );
}
