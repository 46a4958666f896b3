import { onlineManager, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { type Events, useEvents, useVariables } from "../../../packages/client/src/react.ts";
import type { UIMessage } from "ai";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import type { AgentsDescription } from "../../../src/edge/page-options.ts";
import { ChatView } from "../chat/chat-view.tsx";
import { askingIn, metadataOf, textsOf } from "../chat/tool-part.ts";
import { type Chatting, type Loaded, useChatting } from "../chat/use-chatting.ts";
import {
  ConversationContext,
  type SideTab,
  useConversation,
  type View,
  type Waiting,
} from "../conversation-context.ts";
import { EventsPanel } from "../events/events-panel.tsx";
import { MeterPanel } from "../meter/meter-panel.tsx";
import { PlansPanel } from "../plans/plans-panel.tsx";
import type { Session } from "../session.ts";
import { VariablesPanel } from "../variables/variables-panel.tsx";
import { ViewBoundary } from "../view-boundary.tsx";
import { plural } from "../words.ts";
import { Button, Icon, WaitingCount } from "../controls.tsx";
import "./connection-note.css";
import "./side.css";

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
  const { session, loaded, onWaiting, onBegin, described, agent, setAgent } = props;
  const { chatting, exists, events, variables, written } = useParts(props);
  const { messages } = chatting;
  const waiting = useWaiting(messages, events.events, onWaiting);
  const [view, open] = useView();
  useNewPlans(events, loaded.exists, open);
  const given = { session, exists, onBegin, described, agent, setAgent };
  const value = { ...given, variables, events: events.events, waiting, view, open };
  const context = useMemo(() => value, Object.values(value));
  const panels: Readonly<Record<SideTab, React.ReactNode>> = {
    variables: <VariablesPanel />,
    plans: <PlansPanel />,
    events: <EventsPanel {...{ events, chatting }} />,
    meter: <MeterPanel messages={messages} />,
  };
  return (
    <ConversationContext value={context}>
      <ConnectionNote {...events} />
      <main className="workspace-body" data-tab={view.tab}>
        <section className="workspace-main" aria-label="Conversation">
          <ViewBoundary>
            <ChatView {...{ chatting, written }} />
          </ViewBoundary>
        </section>
        <Side>
          <ViewBoundary key={view.side}>{panels[view.side]}</ViewBoundary>
        </Side>
      </main>
      <Announcements {...chatting} />
      <BottomTabs />
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
    if (isLive) void catchUp();
    // A new conversation has no events yet.
    return onlineManager.subscribe((isOnline) => isOnline && void catchUp());
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

/** Announces to screen readers when an answer begins and how it ends. Errors are alerts of their own. */
function Announcements({ isBusy, messages }: Pick<Chatting, "isBusy" | "messages">) {
  const { size: variables } = useConversation().variables;
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
  const { error, stopped } = metadataOf(message);
  if (askingIn(message).length > 0) return "The answer waits: approve or deny the call";
  if (stopped === true) return "Answer ended early";
  if (message?.role !== "assistant" || error !== undefined) return "";
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

/** Each has an icon of its name. */
const sideTabs: readonly (readonly [SideTab, word: string])[] = [
  ["variables", "Variables"],
  ["plans", "Plans"],
  ["events", "Events"],
  ["meter", "Meter"],
];

/** The side panel of a conversation, with one tab open at a time. */
function Side({ children }: { readonly children: ReactNode }) {
  const { view, open, variables, waiting } = useConversation();
  const { side: tab } = view;
  const count = variables.size;
  const move = (step: number) => {
    const at = sideTabs.findIndex(([id]) => id === tab);
    const [next = tab] = sideTabs[(at + step + sideTabs.length) % sideTabs.length] ?? [];
    open({ tab: next });
    document.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <section className="side" aria-label="About the conversation">
      <div
        className="side-tabs"
        role="tablist"
        aria-label="About the conversation"
        onKeyDown={({ key }) => {
          if (key === "ArrowRight") move(1);
          if (key === "ArrowLeft") move(-1);
        }}
      >
        {sideTabs.map(([id, word]) => (
          <Button
            key={id}
            id={`tab-${id}`}
            role="tab"
            aria-selected={id === tab}
            aria-controls="side-panel"
            tabIndex={id === tab ? 0 : -1}
            className="side-tab"
            onClick={() => open({ tab: id })}
          >
            {word} {id === "variables" && count > 0 && <span className="side-count">{count}</span>}
            {id === "plans" && <WaitingCount count={waiting.plans.length} />}
          </Button>
        ))}
      </div>
      <div
        id="side-panel"
        className="side-panel"
        role="tabpanel"
        aria-labelledby={`tab-${tab}`}
        // Focusable, because not every panel contains an element that keys could scroll to.
        tabIndex={0}
      >
        {children}
      </div>
    </section>
  );
}

/** Tabs for a phone, where only one view fits at a time. */
function BottomTabs() {
  const { view, open, variables, waiting } = useConversation();
  const count = variables.size;
  const needed = { talk: waiting.calls, plans: waiting.plans.length };
  const tabs = [["talk", "Conversation"] as const, ...sideTabs];
  return (
    <nav className="bottom-tabs" aria-label="Views">
      {tabs.map(([id, word]) => (
        <Button
          key={id}
          className="bottom-tab"
          aria-current={id === view.tab ? "page" : undefined}
          onClick={() => open({ tab: id })}
        >
          <span className="bottom-icon">
            <Icon name={id} />
            {id === "variables" && count > 0 && <span className="bottom-count">{count}</span>}
            <WaitingCount count={id === "talk" || id === "plans" ? needed[id] : 0} />
          </span>
          <span>{word}</span>
        </Button>
      ))}
    </nav>
  );
}

/** `onWaiting` receives the count, and 0 when the conversation is left. */
function useWaiting(
  messages: readonly UIMessage[],
  events: readonly ConversationEvent[],
  onWaiting: (count: number) => void,
): Waiting {
  const calls = askingIn(messages.at(-1)).length;
  const plans = useMemo(() => {
    // The newest event of a run shows whether it waits.
    const own = events.filter(({ type, run }) => run !== undefined && type.startsWith("run."));
    const runs = new Map(own.map((event) => [event.run, event]));
    const waiting = [...runs.values()].filter(({ type }) => type === "run.waiting");
    return waiting.flatMap(({ plan = [] }) => plan);
  }, [events]);
  const count = calls + plans.length;
  useEffect(() => {
    onWaiting(count);
    return () => onWaiting(0);
  }, [count, onWaiting]);
  return useMemo(() => ({ calls, plans, count }), [calls, plans, count]);
}
