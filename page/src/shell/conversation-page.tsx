import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ChatView } from "../chat/chat-view.tsx";
import type { AgentsDescription, ExampleQuestion } from "../../../src/edge/page-options.ts";
import type { Loaded } from "../chat/load-messages.ts";
import { type Chatting, useChatting } from "../chat/use-chatting.ts";
import { useWaiting } from "../chat/use-waiting.ts";
import { useWritten } from "../chat/use-written.ts";
import { ConversationContext } from "../conversation-context.ts";
import { type Events, useEvents, useVariables } from "../../../packages/client/src/react.ts";
import type { Session } from "../session.ts";
import { ViewBoundary } from "../view-boundary.tsx";
import { Announcements } from "./announcements.tsx";
import { ConnectionNote } from "./connection-note.tsx";
import type { AgentChoice } from "./header.tsx";
import { SideContent } from "./side-content.tsx";
import { BottomTabs, Side, type SideTab, type Tab } from "./side.tsx";
import { useOthers } from "./use-others.ts";

interface ConversationPageProps {
  readonly session: Session;
  readonly loaded: Loaded;
  /** True if the server knows the conversation. */
  readonly exists: boolean;
  readonly agents: readonly AgentChoice[];
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
  const { session, setAgent, onWaiting } = props;
  const { chatting, exists, events, variables, written } = useParts(props);
  const waiting = useWaiting(chatting.messages, events.events, onWaiting);
  const tabs = useTabs();
  const { tab, side, setTab } = tabs;
  useNewPlans(events, props.loaded.exists, tabs.showPlan);
  const { openVariable, openPlan, openMeter, openTurn } = tabs;
  const { events: known } = events;
  const context = useMemo(
    () => ({ session, variables, events: known, openVariable, openPlan, openMeter, openTurn }),
    [session, variables, known, openVariable, openPlan, openMeter, openTurn],
  );
  const field = useRef<HTMLTextAreaElement>(null);
  const tryExample = useExample(chatting, setAgent);
  return (
    <ConversationContext value={context}>
      <ConnectionNote {...events} />
      <main className="workspace-body" data-tab={tab}>
        <section className="workspace-main" aria-label="Conversation">
          <ViewBoundary>
            <ChatView
              chatting={chatting}
              waiting={waiting}
              written={written}
              described={props.described}
              agent={props.agent}
              onExample={(example) => {
                tryExample(example);
                // Skipped on touch screens, where the keyboard would hide the answer.
                if (matchMedia("(hover: hover)").matches) field.current?.focus();
              }}
              field={field}
            />
          </ViewBoundary>
        </section>
        <Side tab={side} setTab={setTab} count={variables.size} waiting={waiting}>
          <ViewBoundary key={side}>
            <SideContent
              tab={side}
              exists={exists}
              agent={props.agent}
              onKept={props.onBegin}
              selected={tabs.variable}
              setSelected={tabs.setVariable}
              plan={tabs.plan}
              setPlan={tabs.setPlan}
              turn={tabs.turn}
              setTurn={tabs.setTurn}
              events={events}
              chatting={chatting}
            />
          </ViewBoundary>
        </Side>
      </main>
      <Announcements chatting={chatting} variables={variables.size} />
      <BottomTabs tab={tab} setTab={setTab} count={variables.size} waiting={waiting} />
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
  const conversation = exists ? session.client.conversation(session.conversation) : undefined;
  const events = useEvents(conversation);
  const { isLive } = events;
  const newest = events.events.at(-1)?.id;
  useEffect(() => {
    if (newest !== undefined && isLive) onChange();
  }, [newest, isLive, onChange]);
  useOthers(events, chatting);
  const listed = useVariables(conversation);
  const variables = useMemo(() => new Map(listed.map((info) => [info.name, info])), [listed]);
  const written = useWritten(session, hasAnswer && !chatting.isBusy);
  return { chatting, exists, events, variables, written };
}

/** Sends an example question to the agent that it was written for. */
function useExample({ send }: Chatting, setAgent: (name: string) => void) {
  const [question, setQuestion] = useState<string>();
  useEffect(() => {
    if (question === undefined) return;
    setQuestion(undefined);
    send(question);
  }, [question, send]);
  return (example: ExampleQuestion) => {
    if (example.agent !== undefined) setAgent(example.agent);
    setQuestion(example.question);
  };
}

/** Opens a plan when it is proposed, if there is room. */
function useNewPlans(
  { events, isLive }: Events,
  existed: boolean,
  show: (plan: string | undefined) => void,
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
    if (id > seen.current) show(plan);
    seen.current = id;
    return undefined;
  }, [events, id, plan, isLive, show]);
}

/** After this time without an event, all earlier events have arrived. */
const PAST_ENDS_AFTER_MS = 1_000;

/** On a phone only `tab` is shown; on a wide screen `side` is shown beside the messages. */
function useTabs() {
  const [tab, setAny] = useState<Tab>("talk");
  const [side, setSide] = useState<SideTab>("variables");
  const [variable, setVariable] = useState<string>();
  const [plan, setPlan] = useState<string>();
  const [turn, setTurn] = useState<string>();
  const setTab = useCallback((next: Tab) => {
    setAny(next);
    if (next !== "talk") setSide(next);
  }, []);
  const openVariable = useCallback(
    (name: string) => {
      setVariable(name);
      setTab("variables");
    },
    [setTab],
  );
  const openPlan = useCallback(
    (id: string) => {
      setPlan(id);
      setTab("plans");
    },
    [setTab],
  );
  /** Opens the plan if there is room. */
  const showPlan = useCallback((id: string | undefined) => {
    setPlan(id);
    setSide("plans");
  }, []);
  const openMeter = useCallback(() => setTab("meter"), [setTab]);
  const openTurn = useCallback(
    (messageId: string) => {
      setTurn(messageId);
      setTab("events");
    },
    [setTab],
  );
  const opens = { openVariable, openPlan, openMeter, openTurn, showPlan };
  return { tab, side, setTab, variable, setVariable, plan, setPlan, turn, setTurn, ...opens };
}
