import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ChatView } from "../chat/chat-view.tsx";
import type { Example } from "../chat/first-run.tsx";
import type { Loaded } from "../chat/load-messages.ts";
import { type Chatting, useChatting } from "../chat/use-chatting.ts";
import { useWritten } from "../chat/use-written.ts";
import { ConversationContext } from "../conversation-context.ts";
import { useEvents } from "../events/use-events.ts";
import type { Session } from "../session.ts";
import { useVariableInfos } from "../use-variable-infos.ts";
import type { AgentChoice } from "./header.tsx";
import { SideContent } from "./side-content.tsx";
import { BottomTabs, Side, type SideTab, type Tab } from "./side.tsx";

interface ConversationPageProps {
  readonly session: Session;
  readonly loaded: Loaded;
  readonly agents: readonly AgentChoice[];
  readonly agent: string | undefined;
  readonly setAgent: (name: string) => void;
  /** Something has changed that others may show: a title, a status. */
  readonly onChange: () => void;
  /** From now on the server knows it. */
  readonly onBegin: () => void;
}

/** One conversation, and all that belongs to it. */
export function ConversationPage(props: ConversationPageProps) {
  const { session, agents, setAgent } = props;
  const { chatting, revision, exists, events, variables, written } = useParts(props);
  const { tab, side, setTab, selected, setSelected } = useTabs();
  const openVariable = useCallback(
    (name: string) => {
      setSelected(name);
      setTab("variables");
    },
    [setSelected, setTab],
  );
  const context = useMemo(
    () => ({ session, variables, events: events.events, openVariable }),
    [session, variables, events, openVariable],
  );
  const field = useRef<HTMLTextAreaElement>(null);
  const tryExample = useExample(chatting, setAgent);
  return (
    <ConversationContext value={context}>
      <div className="workspace-body" data-tab={tab}>
        <main className="workspace-main">
          <ChatView
            chatting={chatting}
            written={written}
            agents={agents.map(({ name }) => name)}
            onExample={(example) => {
              tryExample(example);
              field.current?.focus();
            }}
            field={field}
          />
        </main>
        <Side tab={side} setTab={setTab} count={variables.size}>
          <SideContent
            tab={side}
            exists={exists}
            revision={revision}
            selected={selected}
            setSelected={setSelected}
            events={events}
            chatting={chatting}
          />
        </Side>
      </div>
      <BottomTabs tab={tab} setTab={setTab} count={variables.size} />
    </ConversationContext>
  );
}

function useParts({ session, loaded, agent, onChange, onBegin }: ConversationPageProps) {
  const [revision, setRevision] = useState(0);
  const change = useCallback(() => {
    setRevision((known) => known + 1);
    onChange();
  }, [onChange]);
  const chatting = useChatting({ session, loaded, agent, onChange: change });
  const hasAnswer = chatting.messages.some(({ role }) => role === "assistant");
  // A question that is on its way may not have arrived.
  const exists = loaded.exists || hasAnswer;
  useEffect(() => {
    if (!hasAnswer) return;
    onBegin();
    change();
  }, [hasAnswer, onBegin, change]);
  const events = useEvents(session, exists);
  const newest = events.events.at(-1)?.id;
  useEffect(() => {
    if (newest !== undefined) change();
  }, [newest, change]);
  const variables = useVariableInfos(session, revision, exists);
  const written = useWritten(session, revision, hasAnswer && !chatting.isBusy);
  return { chatting, revision, exists, events, variables, written };
}

/** An example is asked of the agent that knows the answer. */
function useExample({ send }: Chatting, setAgent: (name: string) => void) {
  const [question, setQuestion] = useState<string>();
  useEffect(() => {
    if (question === undefined) return;
    setQuestion(undefined);
    send(question);
  }, [question, send]);
  return (example: Example) => {
    setAgent(example.agent);
    setQuestion(example.question);
  };
}

/** On a phone `tab` is all that is shown; else `side` beside the messages. */
function useTabs() {
  const [tab, setAny] = useState<Tab>("talk");
  const [side, setSide] = useState<SideTab>("variables");
  const [selected, setSelected] = useState<string>();
  const setTab = useCallback((next: Tab) => {
    setAny(next);
    if (next !== "talk") setSide(next);
  }, []);
  return { tab, side, setTab, selected, setSelected };
}
