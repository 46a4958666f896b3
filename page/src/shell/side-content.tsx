import type { Chatting } from "../chat/use-chatting.ts";
import { useConversation } from "../conversation-context.ts";
import { EventsPanel } from "../events/events-panel.tsx";
import { TurnInside } from "../events/turn-inside.tsx";
import type { Events } from "../../../packages/client/src/react.ts";
import { MeterPanel } from "../meter/meter-panel.tsx";
import { SentPrompt } from "../meter/sent-prompt.tsx";
import { PlansPanel } from "../plans/plans-panel.tsx";
import { VariablesPanel } from "../variables/variables-panel.tsx";
import type { SideTab } from "./side.tsx";

interface SideContentProps {
  readonly tab: SideTab;
  readonly exists: boolean;
  readonly agent: string | undefined;
  /** Called when a file has been saved as a variable. */
  readonly onKept: () => void;
  readonly selected: string | undefined;
  readonly setSelected: (name: string | undefined) => void;
  /** Id of the open plan. */
  readonly plan: string | undefined;
  readonly setPlan: (id: string | undefined) => void;
  /** Id of the answer whose details are shown. */
  readonly turn: string | undefined;
  readonly setTurn: (messageId: string) => void;
  readonly events: Events;
  readonly chatting: Chatting;
}

export function SideContent(props: SideContentProps) {
  const { tab, exists, selected, setSelected, plan, setPlan, events, chatting, agent } = props;
  const { session, openVariable } = useConversation();
  const prompt = agent !== undefined && (
    <SentPrompt session={session} agent={agent} exists={exists} />
  );
  switch (tab) {
    case "variables":
      return (
        <VariablesPanel
          session={session}
          exists={exists}
          onKept={props.onKept}
          selected={selected}
          onSelect={setSelected}
        />
      );
    case "plans":
      return exists ? (
        <PlansPanel session={session} selected={plan} onSelect={setPlan} />
      ) : (
        <p className="side-note">No plans yet. Ask for one: "Make a plan …"</p>
      );
    case "events":
      return (
        <EventsPanel
          events={events}
          openVariable={openVariable}
          inside={
            <TurnInside
              messages={chatting.messages}
              turn={props.turn}
              setTurn={props.setTurn}
              isBusy={chatting.isBusy}
              prompt={prompt}
            />
          }
        />
      );
    default:
      return (
        <MeterPanel messages={chatting.messages} firstParts={chatting.firstParts} prompt={prompt} />
      );
  }
}
